"""Hugging Face libraries choose the device by themselves. Each case is a process of its own: they remember choices."""

from __future__ import annotations

import sys

import pytest
import torch
from conftest import Child
from torch_pjrt.integrations import random_state
from torch_pjrt.integrations.hooks import when_imported

TINY = """
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM
config = LlamaConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
                     num_key_value_heads=1, vocab_size=64, eos_token_id=None)
torch.manual_seed(0)
model = LlamaForCausalLM(config).eval()
ids = torch.arange(5)[None]
"""


def ok(child: Child, code: str, **variables: str | None) -> str:
    done = child(code, seconds=300, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_random_state_of_a_machine_with_more_devices(tmp_path) -> None:
    states = [*torch.tpu.get_rng_state_all(), torch.tpu.get_rng_state(0), torch.tpu.get_rng_state(0)]
    torch.save(states, tmp_path / "tpu_rng_state_0.pth")
    first = torch.rand(4, device="tpu").tolist()
    random_state.load(tmp_path, 0)
    assert torch.rand(4, device="tpu").tolist() == first
    torch.save([], tmp_path / "tpu_rng_state_0.pth")
    random_state.load(tmp_path, 0)


def test_accelerate_takes_the_tpu(child: Child) -> None:
    assert ok(child, "from accelerate import Accelerator; print(Accelerator().device)") == "tpu"


def test_the_users_cpu_stays_the_cpu(child: Child) -> None:
    assert ok(child, "from accelerate import Accelerator; print(Accelerator(cpu=True).device)") == "cpu"


def test_trainer_takes_the_tpu(child: Child, tmp_path) -> None:
    code = f"from transformers import TrainingArguments; print(TrainingArguments(output_dir={str(tmp_path)!r}).device)"
    assert ok(child, code) == "tpu:0"


def test_memory_for_device_maps(child: Child) -> None:
    code = """
from accelerate.utils import get_max_memory
import torch
found = get_max_memory()
assert list(found) == [0, "cpu"] and found[0] == torch.tpu.mem_get_info(0)[0], found
print(get_max_memory({"cpu": "1GB", 0: "2GB"}))
"""
    assert ok(child, code) == "{0: 2000000000, 'cpu': 1000000000}"


def test_device_maps(child: Child, tmp_path) -> None:
    code = (
        TINY
        + f"""
model.save_pretrained({str(tmp_path)!r})
for where in ("auto", "tpu", 0):
    loaded = AutoModelForCausalLM.from_pretrained({str(tmp_path)!r}, device_map=where)
    assert {{str(p.device) for p in loaded.parameters()}} == {{"tpu:0"}}, where
    torch.testing.assert_close(loaded(ids.to("tpu")).logits.cpu(), model(ids).logits, rtol=1e-4, atol=1e-4)
"""
    )
    ok(child, code)


@pytest.mark.parametrize("cache", [None, "static"])
def test_generate_gives_the_cpus_tokens(cache: str | None, child: Child) -> None:
    code = (
        TINY
        + f"""
torch.tpu.set_fallback_mode("error")
want = model.generate(ids, max_new_tokens=6, do_sample=False)
model.to("tpu")
how = dict(max_new_tokens=6, do_sample=False, cache_implementation={cache!r})
assert model.generate(ids.to("tpu"), **how).tolist() == want.tolist()
before = torch.tpu.compile_stats()["compiles"]
assert model.generate(ids.to("tpu"), **how).tolist() == want.tolist()
assert torch.tpu.compile_stats()["compiles"] == before
print(torch.tpu.fallback_stats())
"""
    )
    assert ok(child, code) == "{}"


def test_a_hook_runs_after_the_import_once(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hooked_module.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    seen = []
    when_imported("hooked_module", lambda module: seen.append(module.value))
    import hooked_module

    assert seen == [1] and type(hooked_module.__loader__).__name__ == "SourceFileLoader"
    when_imported("hooked_module", lambda module: seen.append(2))
    assert seen == [1, 2]
    del sys.modules["hooked_module"]


def test_a_hook_for_a_module_that_is_missing() -> None:
    when_imported("no_such_module_here", lambda module: None)
    with pytest.raises(ModuleNotFoundError):
        __import__("no_such_module_here")
