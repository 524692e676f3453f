"""PEFT's methods train, merge, save and load on tpu as on the CPU."""

from __future__ import annotations

import copy

import peft
import pytest
import tiny
import torch

LINEAR = ["q_proj", "v_proj", "down_proj"]
METHODS = {
    "lora": lambda: peft.LoraConfig(r=4, target_modules=LINEAR, task_type="CAUSAL_LM"),
    "dora": lambda: peft.LoraConfig(r=4, target_modules=LINEAR, use_dora=True, task_type="CAUSAL_LM"),
    "ia3": lambda: peft.IA3Config(target_modules=LINEAR, feedforward_modules=["down_proj"], task_type="CAUSAL_LM"),
    "prompt": lambda: peft.PromptTuningConfig(num_virtual_tokens=4, task_type="CAUSAL_LM"),
    "prefix": lambda: peft.PrefixTuningConfig(num_virtual_tokens=4, task_type="CAUSAL_LM"),
    "loha": lambda: peft.LoHaConfig(r=4, target_modules=LINEAR, task_type="CAUSAL_LM"),
    "lokr": lambda: peft.LoKrConfig(r=4, target_modules=LINEAR, task_type="CAUSAL_LM"),
}


def adapted(method: str) -> peft.PeftModel:
    model = tiny.llama()
    torch.manual_seed(1)
    return peft.get_peft_model(model, METHODS[method]())


def train(model: torch.nn.Module, device: str, steps: int = 5) -> list[float]:
    model = model.to(device).train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    losses = []
    for rows in tiny.Sentences(4 * steps).rows.split(4):
        loss = model(input_ids=rows.to(device), labels=rows.to(device)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("method", METHODS)
def test_training_merging_and_loading(method, tmp_path):
    cpu = adapted(method)
    tpu = copy.deepcopy(cpu)
    torch.tpu.reset_stats()
    assert train(tpu, "tpu") == pytest.approx(train(cpu, "cpu"), rel=1e-3)
    rows = tiny.Sentences(2).rows
    expected = cpu.eval()(input_ids=rows).logits
    got = tpu.eval()(input_ids=rows.to("tpu")).logits
    torch.testing.assert_close(got.cpu(), expected, rtol=1e-2, atol=1e-3)
    tpu.save_pretrained(tmp_path)
    again = peft.PeftModel.from_pretrained(tiny.llama().to("tpu"), tmp_path).eval()
    torch.testing.assert_close(again(input_ids=rows.to("tpu")).logits, got, rtol=1e-4, atol=1e-4)
    if method not in ("prompt", "prefix"):
        merged = tpu.merge_and_unload()
        torch.testing.assert_close(merged(input_ids=rows.to("tpu")).logits, got, rtol=1e-3, atol=1e-3)
    assert torch.tpu.fallback_stats() == {}
