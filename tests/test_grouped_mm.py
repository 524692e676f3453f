"""torch._grouped_mm, a mixture of experts' product: equals a loop over the groups, gradients too."""

from __future__ import annotations

import pytest
import torch

ROWS = 12


def by_loop(rows: torch.Tensor, matrices: torch.Tensor, ends: list[int]) -> torch.Tensor:
    parts, start = [], 0
    for matrix, end in zip(matrices, ends, strict=True):
        parts.append(rows[start:end] @ matrix)
        start = end
    return torch.cat([*parts, torch.zeros(len(rows) - start, matrices.shape[2])])


@pytest.mark.parametrize("ends", [[3, 3, 10, 12], [0, 0, 0, 12], [12, 12, 12, 12], [1, 2, 3, 9]], ids=str)
def test_rows_and_gradients(ends):
    torch.manual_seed(0)
    rows, matrices = torch.randn(ROWS, 6, requires_grad=True), torch.randn(4, 6, 5, requires_grad=True)
    cotangent, offs = torch.randn(ROWS, 5), torch.tensor(ends, dtype=torch.int32)
    expected = by_loop(rows, matrices, ends)
    gradients = torch.autograd.grad(expected, (rows, matrices), cotangent)
    ours = [x.detach().to("tpu").requires_grad_() for x in (rows, matrices)]
    got = torch._grouped_mm(*ours, offs=offs.to("tpu"))
    torch.testing.assert_close(got.cpu(), expected)
    for a, b in zip(torch.autograd.grad(got, ours, cotangent.to("tpu")), gradients, strict=True):
        torch.testing.assert_close(a.cpu(), b)


def test_where_groups_end_compiles_nothing():
    rows, matrices = torch.randn(ROWS, 6, device="tpu"), torch.randn(4, 6, 5, device="tpu")

    def run(ends: list[int]) -> int:
        torch._grouped_mm(rows, matrices, offs=torch.tensor(ends, dtype=torch.int32).to("tpu")).cpu()
        return torch.tpu.compile_stats()["compiles"]

    assert run([1, 2, 3, 12]) == run([4, 5, 5, 11])


def test_wrong_arguments_are_refused():
    rows, matrices = torch.randn(ROWS, 6, device="tpu"), torch.randn(4, 7, 5, device="tpu")
    with pytest.raises(RuntimeError, match="contraction dimension"):
        torch._grouped_mm(rows, matrices, offs=torch.zeros(4, dtype=torch.int32, device="tpu"))
    with pytest.raises(RuntimeError, match="offs"):
        torch._grouped_mm(rows, torch.randn(4, 6, 5, device="tpu"))
