"""Whole models of Transformers and Diffusers: results equal the CPU's, and no op is decomposed or runs on the CPU."""

from __future__ import annotations

import copy

import pytest
import tiny
import torch
import transformers

SMALL = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 96}
GROUPED = {**SMALL, "num_key_value_heads": 2, "max_position_embeddings": 128}
GEMMA = {**GROUPED, "head_dim": 8, "sliding_window": 16}

CAUSAL = {
    "llama": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**GROUPED)),
    "qwen2": lambda: transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**GROUPED)),
    "qwen3": lambda: transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**GROUPED, head_dim=8)),
    "gemma2": lambda: transformers.Gemma2ForCausalLM(transformers.Gemma2Config(**GEMMA, query_pre_attn_scalar=8)),
    "gemma3": lambda: transformers.Gemma3ForCausalLM(transformers.Gemma3TextConfig(**GEMMA, query_pre_attn_scalar=8)),
    "gpt2": lambda: transformers.GPT2LMHeadModel(
        transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=96, n_positions=128)
    ),
}


def on_both(make, seed: int = 0):
    """The same random model on the CPU and on tpu, for inference."""
    torch.manual_seed(seed)
    model = make().eval().requires_grad_(False)
    return model, copy.deepcopy(model).to("tpu")


@pytest.fixture(autouse=True)
def everything_is_lowered():
    torch.tpu.reset_stats()
    yield
    assert torch.tpu.decomposition_stats() == {}
    assert torch.tpu.fallback_stats() == {}


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("name", CAUSAL)
def test_forward_of_a_padded_batch_equals_the_cpus(name, attention):
    cpu, tpu = on_both(CAUSAL[name])
    if attention == "sdpa" and not cpu._supports_sdpa:
        attention = "eager"  # Transformers gives this model no other
    cpu.set_attn_implementation(attention)
    tpu.set_attn_implementation(attention)
    ids = torch.randint(0, 96, (3, 21))
    mask = torch.ones_like(ids)
    mask[1, :6] = 0
    expected = cpu(input_ids=ids, attention_mask=mask).logits
    got = tpu(input_ids=ids.to("tpu"), attention_mask=mask.to("tpu")).logits
    assert got.device.type == "tpu"
    kept = mask.bool()
    torch.testing.assert_close(got.cpu()[kept], expected[kept], rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"num_beams": 3},
        {"cache_implementation": "static"},
        {"repetition_penalty": 1.3, "no_repeat_ngram_size": 2},
        {"num_beams": 2, "length_penalty": 0.5, "early_stopping": True},
    ],
    ids=["greedy", "beam", "static", "penalties", "beam-penalty"],
)
def test_generate_gives_the_cpus_tokens(how):
    cpu, tpu = on_both(CAUSAL["llama"])
    ids = torch.randint(3, 96, (2, 9))
    mask = torch.ones_like(ids)
    mask[0, :3] = 0
    options = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": 0, "eos_token_id": 2, **how}
    expected = cpu.generate(
        ids, attention_mask=mask, **{k: v for k, v in options.items() if k != "cache_implementation"}
    )
    got = tpu.generate(ids.to("tpu"), attention_mask=mask.to("tpu"), **options)
    assert torch.equal(got.cpu(), expected)


def test_sampling_reproduces_and_compiles_nothing_the_second_time():
    _, tpu = on_both(CAUSAL["llama"])
    ids = torch.randint(3, 96, (2, 9)).to("tpu")
    options = {"max_new_tokens": 6, "do_sample": True, "temperature": 0.7, "top_k": 20, "top_p": 0.9, "pad_token_id": 0}
    options["eos_token_id"] = None

    def sample(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return tpu.generate(ids, **options).cpu()

    first = sample(5)
    sample(6)
    compiles = torch.tpu.compile_stats()["compiles"]
    assert torch.equal(sample(5), first)
    assert not torch.equal(sample(7), first)
    assert torch.tpu.compile_stats()["compiles"] == compiles


def test_bert_equals_the_cpus():
    config = transformers.BertConfig(**SMALL, max_position_embeddings=64)
    cpu, tpu = on_both(lambda: transformers.BertForSequenceClassification(config))
    ids = torch.randint(0, 96, (2, 17))
    mask = torch.ones_like(ids)
    mask[1, 11:] = 0
    expected = cpu(input_ids=ids, attention_mask=mask).logits
    got = tpu(input_ids=ids.to("tpu"), attention_mask=mask.to("tpu")).logits
    torch.testing.assert_close(got.cpu(), expected, rtol=1e-4, atol=1e-4)


def test_unet_and_vae_equal_the_cpus():
    diffusers = pytest.importorskip("diffusers")

    def unet():
        return diffusers.UNet2DConditionModel(
            sample_size=16,
            block_out_channels=(16, 32),
            layers_per_block=1,
            cross_attention_dim=24,
            attention_head_dim=4,
            norm_num_groups=8,
            down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
            up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
        )

    cpu, tpu = on_both(unet)
    sample, text, step = torch.randn(2, 4, 16, 16), torch.randn(2, 5, 24), torch.tensor([3, 900])
    expected = cpu(sample, step, text).sample
    got = tpu(sample.to("tpu"), step.to("tpu"), text.to("tpu")).sample
    torch.testing.assert_close(got.cpu(), expected, rtol=1e-3, atol=1e-4)

    def vae():
        return diffusers.AutoencoderKL(
            block_out_channels=(16, 32),
            norm_num_groups=8,
            down_block_types=("DownEncoderBlock2D",) * 2,
            up_block_types=("UpDecoderBlock2D",) * 2,
        )

    cpu, tpu = on_both(vae)
    image = torch.randn(1, 3, 32, 32)
    expected = cpu.encode(image).latent_dist.mode()
    torch.testing.assert_close(tpu.encode(image.to("tpu")).latent_dist.mode().cpu(), expected, rtol=1e-3, atol=1e-4)
    got = tpu.decode(expected.to("tpu")).sample
    torch.testing.assert_close(got.cpu(), cpu.decode(expected).sample, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("scheduler", ["DDPMScheduler", "DDIMScheduler", "EulerDiscreteScheduler"])
def test_diffusion_pipelines_give_the_cpus_image(scheduler):
    diffusers = pytest.importorskip("diffusers")

    models = dict(zip(("cpu", "tpu"), on_both(tiny.unet), strict=True))

    def image(device: str) -> torch.Tensor:
        noise = torch.Generator().manual_seed(3)
        steps = getattr(diffusers, scheduler)(num_train_timesteps=100)
        steps.set_timesteps(4)
        x = (torch.randn(1, 3, 8, 8, generator=noise) * steps.init_noise_sigma).to(device)
        for t in steps.timesteps:
            predicted = models[device](steps.scale_model_input(x, t), t).sample
            options = {} if scheduler == "EulerDiscreteScheduler" else {"generator": noise}
            x = steps.step(predicted, t, x, **options).prev_sample
        return x.cpu()

    torch.testing.assert_close(image("tpu"), image("cpu"), rtol=1e-3, atol=1e-3)
