"""What helps to find a mistake: the NaN trap, dumps with lines, late errors."""

from __future__ import annotations

import math

import pytest
import torch
from conftest import Child


@pytest.fixture
def trap():
    torch.tpu.set_detect_nan(True)
    yield
    torch.tpu.set_detect_nan(False)


def test_the_first_op_with_a_nan_is_named(trap):
    x = torch.tensor([1.0, -1.0, 4.0]).to("tpu")
    root = x.sqrt()  # the culprit
    later = root * 2 + 1
    with pytest.raises(
        RuntimeError, match=r"aten::sqrt\(f32\[3\]\): the result holds a NaN[\s\S]*test_debug.py:\d+"
    ) as caught:
        later.sum().item()
    assert "test_the_first_op_with_a_nan_is_named" in str(caught.value)


def test_a_nan_of_the_backward_pass_is_found(trap):
    x = torch.zeros(3, device="tpu", requires_grad=True)
    loss = (x.abs().sqrt() * 0).sum()  # 0 * inf in the gradient
    with pytest.raises(RuntimeError, match="holds a NaN"):
        loss.backward()
        x.grad.cpu()


def test_numbers_pass_the_trap(trap):
    x = torch.tensor([1.0, math.inf, 0.0]).to("tpu")
    assert (x + 1).tolist() == [2.0, math.inf, 1.0]


def test_an_out_of_memory_error_lists_the_largest_tensors(child: Child, tmp_path):
    code = """
import torch
def weights():
    return [torch.ones(4 << 20).to("tpu") for _ in range(2)]
def activations():
    x = torch.ones(2 << 20, device="tpu") * 3
    torch.tpu.synchronize()
    return x
held = weights(), activations(), torch.ones(5).to("tpu")
try:
    torch.ones(16 << 20).to("tpu")
except torch.OutOfMemoryError as error:
    print(error)
held = None
print(torch.ones(8 << 20, device="tpu").mul(2).sum().item())
"""
    (tmp_path / "program.py").write_text(code)
    done = child(f"import runpy; runpy.run_path({str(tmp_path / 'program.py')!r})", TORCH_PJRT_MEMORY_LIMIT="64MiB")
    rows = [" ".join(line.split()) for line in done.stdout.splitlines()]
    at = rows.index("tpu:0 holds 40.0 MiB:")
    # Python 3.11 has a frame for the list, later ones none.
    assert rows[at + 1].startswith("32.0 MiB 2 x f32[4194304] program.py:4 in ")
    assert rows[at + 2].startswith("8.0 MiB f32[2097152] program.py:6 in activations")
    assert rows[at + 3].startswith("0.0 MiB f32[5]")
    assert rows[-1] == str(float(16 << 20)), done.stdout + done.stderr


def test_without_the_trap_a_nan_is_a_number():
    assert torch.tensor([-1.0]).to("tpu").sqrt().isnan().item()


def test_a_dump_names_ops_and_lines(child: Child, tmp_path):
    folder = tmp_path / "not there yet"
    code = """
import torch
def gate(x):
    return torch.nn.functional.silu(x)
gate(torch.ones(3, device="tpu") * torch.rand(3, device="tpu")).sum().item()
"""
    (tmp_path / "program.py").write_text(code)
    done = child(f"import runpy; runpy.run_path({str(tmp_path / 'program.py')!r})", TORCH_PJRT_DUMP=str(folder))
    assert done.returncode == 0, done.stderr
    graphs = "".join(file.read_text() for file in folder.glob("*.txt"))
    assert "# aten::silu program.py:4 in gate" in graphs
    assert {file.with_suffix(".mlir") for file in folder.glob("*.txt")} == set(folder.glob("*.mlir"))
