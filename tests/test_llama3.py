"""Llama 3, scaled down: grouped queries, its rotary scaling, a large vocabulary, bfloat16."""

from __future__ import annotations

import copy

import pytest
import torch
import transformers
from against_cpu import compare, on_both

ROPE = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}


def llama3(**more) -> transformers.LlamaForCausalLM:
    """Llama-3-8B's shape: four queries a key, no tied weights, vocabulary of 128,256; all else is small."""
    config = {
        "hidden_size": 64,
        "intermediate_size": 224,
        "num_hidden_layers": 3,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "vocab_size": 128256,
        "max_position_embeddings": 256,
        "rms_norm_eps": 1e-5,
        "rope_parameters": ROPE,
        "bos_token_id": 128000,
        "eos_token_id": None,
        "tie_word_embeddings": False,
    }
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**{**config, **more}))


def tokens(rows: int = 2, length: int = 48) -> torch.Tensor:
    return torch.randint(0, 128000, (rows, length), generator=torch.Generator().manual_seed(1))


def test_forward_and_backward_beyond_the_original_length() -> None:
    mask = torch.ones(2, 48, dtype=torch.long)
    mask[1, :9] = 0
    compare(llama3, {"input_ids": tokens(), "attention_mask": mask, "labels": tokens()})


@pytest.mark.parametrize("cache", [None, "static"])
def test_greedy_tokens_of_left_padded_prompts(cache: str | None) -> None:
    cpu, tpu = on_both(llama3)
    mask = torch.ones(2, 48, dtype=torch.long)
    mask[1, :17] = 0
    how = {"max_new_tokens": 12, "do_sample": False, "pad_token_id": 0}
    want = cpu.generate(tokens(), attention_mask=mask, **how)
    got = tpu.generate(tokens().to("tpu"), attention_mask=mask.to("tpu"), cache_implementation=cache, **how)
    assert got.tolist() == want.tolist()


def test_bfloat16_logits() -> None:
    cpu, tpu = on_both(lambda: llama3(vocab_size=512, bos_token_id=1).to(torch.bfloat16))
    ids = tokens() % 512
    with torch.no_grad():
        want, got = cpu(ids).logits, tpu(ids.to("tpu")).logits
    assert got.dtype == torch.bfloat16
    exact = copy.deepcopy(cpu).float()(ids).logits.detach()
    # As near to float32's as the CPU's own bfloat16 is.
    error, of_cpu = (got.cpu().float() - exact).abs().max(), (want.float() - exact).abs().max()
    assert error <= 2 * of_cpu


def test_training_repeats_its_programs() -> None:
    torch.manual_seed(0)
    model = llama3(vocab_size=512, bos_token_id=1).to("tpu").train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    ids = (tokens() % 512).to("tpu")
    losses, compiles = [], []
    for _ in range(8):
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        compiles.append(torch.tpu.compile_stats()["compiles"] + torch.tpu.compile_stats()["disk_hits"])
    assert losses[-1] < 0.8 * losses[0]
    assert compiles[-1] == compiles[2]
