"""DeepSeek-V3, scaled down: latent attention, and its routing of 256 experts in 8 groups, 8 of them a token."""

from __future__ import annotations

import pytest
import torch
import transformers
from against_cpu import compare, on_both

EXPERTS = 256


def deepseek(**more) -> transformers.DeepseekV3ForCausalLM:
    """The routing is the real one; widths are small. The first layer is dense, as the first three of the real one."""
    config = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "moe_intermediate_size": 8,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "vocab_size": 128,
        "n_routed_experts": EXPERTS,
        "n_shared_experts": 1,
        "num_experts_per_tok": 8,
        "n_group": 8,
        "topk_group": 4,
        "routed_scaling_factor": 2.5,
        "first_k_dense_replace": 1,
        "kv_lora_rank": 16,
        "q_lora_rank": 24,
        "qk_rope_head_dim": 8,
        "qk_nope_head_dim": 8,
        "v_head_dim": 8,
        "max_position_embeddings": 128,
        "eos_token_id": None,
    }
    return transformers.DeepseekV3ForCausalLM(transformers.DeepseekV3Config(**{**config, **more}))


def tokens(rows: int = 2, length: int = 24) -> torch.Tensor:
    return torch.randint(0, 128, (rows, length), generator=torch.Generator().manual_seed(1))


def test_forward_and_backward_equal_the_cpus() -> None:
    compare(deepseek, {"input_ids": tokens(), "labels": tokens()})


def test_the_biased_router_takes_the_cpus_experts() -> None:
    """The correction bias decides who is taken, not how much each counts."""
    cpu, tpu = on_both(deepseek)
    bias = torch.randn(EXPERTS, generator=torch.Generator().manual_seed(2))
    for model in (cpu, tpu):
        model.model.layers[1].mlp.gate.e_score_correction_bias.data.copy_(bias)
    with torch.no_grad():
        torch.testing.assert_close(tpu(tokens().to("tpu")).logits.cpu(), cpu(tokens()).logits, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("cache", [None, "static"])
def test_greedy_tokens(cache: str | None) -> None:
    cpu, tpu = on_both(deepseek)
    how = {"max_new_tokens": 8, "do_sample": False}
    want = cpu.generate(tokens(), **how)
    got = tpu.generate(tokens().to("tpu"), cache_implementation=cache, **how)
    assert got.tolist() == want.tolist()


def test_other_tokens_take_other_experts_in_the_same_program() -> None:
    _, model = on_both(deepseek)
    with torch.no_grad():
        model(tokens().to("tpu")).logits.cpu()
        before = torch.tpu.compile_stats()["compiles"]
        for seed in range(3):
            other = torch.randint(0, 128, (2, 24), generator=torch.Generator().manual_seed(seed))
            model(other.to("tpu")).logits.cpu()
    assert torch.tpu.compile_stats()["compiles"] == before


def test_training_moves_many_experts() -> None:
    _, model = on_both(deepseek)
    before = {name: p.detach().cpu() for name, p in model.named_parameters()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    losses = []
    for _ in range(10):
        loss = model(input_ids=tokens().to("tpu"), labels=tokens().to("tpu")).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    name = next(name for name in before if "experts" in name and "down_proj" in name)
    moved = (dict(model.named_parameters())[name].detach().cpu() - before[name]).flatten(1).abs().sum(1) > 0
    assert moved.sum() > 32  # of 256: 48 tokens take 8 each
