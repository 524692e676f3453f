"""Tensors without elements: nothing is computed for them, whatever the op; results have the CPU's sizes and dtypes."""

from __future__ import annotations

import pytest
import torch

F = torch.nn.functional
CASES = {
    "fmod": lambda x: torch.fmod(x.long(), x.long() + 1),
    "div-trunc": lambda x: torch.div(x.long(), x.long() + 1, rounding_mode="trunc"),
    "remainder": lambda x: x.int() % (x.int() + 2),
    "sum": lambda x: x.sum(1),
    "softmax": lambda x: x.softmax(-1),
    "matmul": lambda x: x.transpose(-1, -2) @ x,
    "sort": lambda x: x.sort(-1).values,
    "cumsum": lambda x: x.cumsum(-1),
    "cat": lambda x: torch.cat([x, x], 0),
    "gather": lambda x: x.gather(-1, torch.zeros(x.shape, dtype=torch.long, device=x.device)),
    "norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "random": lambda x: torch.rand_like(x),
    "where": lambda x: torch.where(x > 0, x, -x),
}


@pytest.mark.parametrize("sizes", [(0, 4, 3), (2, 0, 3), (2, 4, 0)], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_results_without_elements(name, sizes):
    x = torch.ones(sizes)
    try:
        expected = CASES[name](x)
    except Exception as error:
        with pytest.raises(type(error)):
            CASES[name](x.to("tpu"))
        return
    got = CASES[name](x.to("tpu"))
    torch.tpu.mark_step()
    if name == "random":
        assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    else:
        torch.testing.assert_close(got.cpu(), expected)


def test_gradients_without_elements():
    x = torch.ones(0, 3, device="tpu", requires_grad=True)
    weight = torch.ones(2, 3, device="tpu", requires_grad=True)
    (F.linear(x, weight).relu().sum() + weight.sum()).backward()
    assert x.grad.shape == (0, 3)
    assert weight.grad.tolist() == [[1.0] * 3] * 2
