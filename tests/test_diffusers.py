"""Diffusers' pipelines on tpu give the CPU's image from the same CPU generator, and compile nothing after two steps."""

from __future__ import annotations

import copy

import diffusers
import pytest
import tiny
import torch
import transformers


def plain(scheduler: diffusers.SchedulerMixin) -> diffusers.DiffusionPipeline:
    kind = diffusers.DDIMPipeline if isinstance(scheduler, diffusers.DDIMScheduler) else diffusers.DDPMPipeline
    return kind(unet=tiny.unet(), scheduler=scheduler)


def text_encoder() -> transformers.CLIPTextModel:
    config = transformers.CLIPTextConfig(
        hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, vocab_size=64,
        max_position_embeddings=16, projection_dim=16, eos_token_id=2,
    )  # fmt: skip
    return transformers.CLIPTextModel(config)


def autoencoder(channels: int = 4) -> diffusers.AutoencoderKL:
    return diffusers.AutoencoderKL(
        block_out_channels=(8, 16), norm_num_groups=4, latent_channels=channels, shift_factor=0.0,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip


def stable_diffusion() -> diffusers.StableDiffusionPipeline:
    model = diffusers.UNet2DConditionModel(
        sample_size=8, block_out_channels=(8, 16), layers_per_block=1, cross_attention_dim=16, attention_head_dim=4,
        norm_num_groups=4, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    )  # fmt: skip
    return diffusers.StableDiffusionPipeline(
        vae=autoencoder(), text_encoder=text_encoder(), tokenizer=None, unet=model, scheduler=diffusers.DDIMScheduler(),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    )  # fmt: skip


def dit() -> diffusers.DiTPipeline:
    transformer = diffusers.DiTTransformer2DModel(
        num_attention_heads=2, attention_head_dim=8, in_channels=4, out_channels=8, num_layers=2, sample_size=8,
        patch_size=2, num_embeds_ada_norm=1000,
    )  # fmt: skip
    return diffusers.DiTPipeline(transformer=transformer, vae=autoencoder(), scheduler=diffusers.DDIMScheduler())


def flux() -> diffusers.FluxPipeline:
    transformer = diffusers.FluxTransformer2DModel(
        patch_size=1, in_channels=16, num_layers=1, num_single_layers=1, attention_head_dim=16, num_attention_heads=2,
        joint_attention_dim=16, pooled_projection_dim=16, axes_dims_rope=(4, 4, 8),
    )  # fmt: skip
    return diffusers.FluxPipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(), vae=autoencoder(), text_encoder=None, tokenizer=None,
        text_encoder_2=None, tokenizer_2=None, transformer=transformer,
    )  # fmt: skip


def prompts(seed: int, *sizes: int) -> torch.Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed))


CASES = {
    "ddpm": (lambda: plain(diffusers.DDPMScheduler(num_train_timesteps=100)), lambda _: {"batch_size": 1}),
    "ddim": (lambda: plain(diffusers.DDIMScheduler(num_train_timesteps=100)), lambda _: {"batch_size": 1}),
    "stable-diffusion": (
        stable_diffusion,
        lambda pipe: {
            "prompt_embeds": prompts(1, 1, 8, 16).to(pipe.device),
            "negative_prompt_embeds": prompts(2, 1, 8, 16).to(pipe.device),
            "height": 16,
            "width": 16,
        },
    ),
    "dit": (dit, lambda _: {"class_labels": [3, 7]}),
    "flux": (
        flux,
        lambda pipe: {
            "prompt_embeds": prompts(1, 1, 8, 16).to(pipe.device),
            "pooled_prompt_embeds": prompts(2, 1, 16).to(pipe.device),
            "height": 16,
            "width": 16,
        },
    ),
}


def image(pipe: diffusers.DiffusionPipeline, arguments, steps: int) -> torch.Tensor:
    pipe.set_progress_bar_config(disable=True)
    made = pipe(
        **arguments(pipe), num_inference_steps=steps, generator=torch.Generator().manual_seed(5), output_type="np"
    )
    return torch.as_tensor(made.images)


@pytest.mark.parametrize("name", CASES)
def test_pipelines_give_the_cpus_image(name):
    make, arguments = CASES[name]
    torch.manual_seed(0)
    cpu = make()
    for part in cpu.components.values():
        if isinstance(part, torch.nn.Module):
            part.eval()
    parts = {k: copy.deepcopy(v) for k, v in cpu.components.items()}
    tpu = type(cpu)(**parts, **({"requires_safety_checker": False} if name == "stable-diffusion" else {})).to("tpu")
    assert tpu.device.type == "tpu"
    torch.tpu.reset_stats()
    got = image(tpu, arguments, 4)
    torch.testing.assert_close(got, image(cpu, arguments, 4), rtol=1e-3, atol=2e-3)
    assert torch.tpu.fallback_stats() == {}
    compiles = []
    step = tpu.scheduler.step

    def counted(*args, **kwargs):
        compiles.append(torch.tpu.compile_stats()["compiles"])
        return step(*args, **kwargs)

    tpu.scheduler.step = counted
    image(tpu, arguments, 20)
    assert len(compiles) == 20 and compiles[-1] == compiles[3], compiles


def test_prompts_are_encoded_as_on_the_cpu():
    torch.manual_seed(0)
    cpu = text_encoder().eval()
    ids = torch.randint(3, 64, (2, 8), generator=torch.Generator().manual_seed(0))
    expected = cpu(ids).last_hidden_state
    tpu = copy.deepcopy(cpu).to("tpu")
    torch.testing.assert_close(tpu(ids.to("tpu")).last_hidden_state.cpu(), expected, rtol=1e-4, atol=1e-4)
