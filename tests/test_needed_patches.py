"""Each change that we make to another library is still needed: without it that library goes wrong on tpu.

A test here that fails says that upstream does it by now. Then the patch in torch_pjrt/integrations/ can go, once the
oldest version that we support does it too.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Child

# Takes a patch back before its library is imported.
WITHOUT = """
import torch
from torch_pjrt.integrations import hooks
assert hooks._waiting.pop({module!r}), "no patch waits for this module"
"""

TINY = """
import transformers
torch.manual_seed(0)
model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
    hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2, vocab_size=64))
"""

ACCELERATE_DEVICE = """
from accelerate import Accelerator
assert Accelerator().device.type == "cpu"
"""

ACCELERATE_FP16 = """
from accelerate import Accelerator
try:
    Accelerator(mixed_precision="fp16")
    raised = False
except ValueError as error:
    raised = True
assert raised
"""

ACCELERATE_MEMORY = """
from accelerate.utils import get_max_memory
assert list(get_max_memory()) == ["cpu"]
"""

ACCELERATE_RANDOM_STATE = """
from accelerate import Accelerator
accelerator = Accelerator()
torch.rand(1, device="tpu")
accelerator.save_state({folder!r})
first = torch.rand(4, device="tpu").tolist()
accelerator.load_state({folder!r})
assert torch.rand(4, device="tpu").tolist() != first
"""

TRAINER_RANDOM_STATE = """
trainer = transformers.Trainer(model, transformers.TrainingArguments({folder!r}, report_to=[]))
torch.rand(1, device="tpu")
trainer._save_rng_state({folder!r})
first = torch.rand(4, device="tpu").tolist()
trainer._load_rng_state({folder!r})
assert torch.rand(4, device="tpu").tolist() != first
"""

CONTINUOUS_BATCHING = """
def compiles(lengths):
    before = torch.tpu.compile_stats()["compiles"]
    model.generate_batch(
        [list(range(3, 3 + length)) for length in lengths],
        generation_config=transformers.GenerationConfig(max_new_tokens=2, do_sample=False, eos_token_id=-1),
        continuous_batching_config=transformers.ContinuousBatchingConfig(
            num_blocks=16, page_size=16, max_batch_tokens=64),
    )
    return torch.tpu.compile_stats()["compiles"] - before
model.to("tpu")
compiles([3, 9])
assert compiles([5, 11]) > 0
"""


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("accelerate.state", ACCELERATE_DEVICE),
        ("accelerate.accelerator", ACCELERATE_FP16),
        ("accelerate.utils.modeling", ACCELERATE_MEMORY),
        ("accelerate.checkpointing", ACCELERATE_RANDOM_STATE),
        ("transformers.trainer", TINY + TRAINER_RANDOM_STATE),
        ("transformers.generation.continuous_batching.continuous_api", TINY + CONTINUOUS_BATCHING),
    ],
)
def test_library_goes_wrong_without_its_patch(module: str, code: str, child: Child, tmp_path: Path) -> None:
    code = code.replace("{folder!r}", repr(str(tmp_path)))
    without = child(WITHOUT.format(module=module) + code, seconds=300, TORCH_PJRT_CACHE_DIR=str(tmp_path / "cache"))
    assert without.returncode == 0, without.stderr
    # The code looks at what the patch changes: with it, its last line fails.
    patched = child("import torch\n" + code, seconds=300, TORCH_PJRT_CACHE_DIR=str(tmp_path / "cache"))
    assert "AssertionError" in patched.stderr


PLAIN_COMPILE = """
import torch
x = torch.ones(3, device="tpu")
wrapper = torch._TorchCompileInductorWrapper
wrapper.__call__ = wrapper.__call__.__wrapped__
try:
    print("works", torch.compile(lambda x: x.sin() + 1)(x).tolist())
except Exception as error:
    print("raises", type(error).__name__)
"""


def test_plain_compile_goes_wrong_without_its_patch(child: Child) -> None:
    assert child(PLAIN_COMPILE, seconds=300).stdout.startswith("raises")
    patched = PLAIN_COMPILE.replace("wrapper.__call__ = wrapper.__call__.__wrapped__", "")
    assert child(patched, seconds=300).stdout.startswith("works [1.84")
