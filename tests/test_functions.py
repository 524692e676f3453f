"""Elementwise functions over many sizes: plugins compile short, vectorised and parallel loops in different ways."""

from __future__ import annotations

import pytest
import torch

NAMES = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]
CLOSE = {
    torch.float32: {"rtol": 1e-5, "atol": 1e-6},
    torch.bfloat16: {"rtol": 1.6e-2, "atol": 1e-2},
    torch.float64: {"rtol": 1e-7, "atol": 1e-7},
}
SIZES = (1, 7, 16, 31, 64, 100, 361, 1000, 5000, 20001)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
def test_functions_equal_the_cpus_at_every_size(dtype):
    generator = torch.Generator().manual_seed(0)
    wrong = []
    for name in NAMES:
        function = getattr(torch, name)
        # In every function's domain.
        inputs = [(torch.rand(n, generator=generator) * 0.9 + 0.05 + (name == "acosh")).to(dtype) for n in SIZES]
        results = [function(x.to("tpu")) for x in inputs]
        torch.tpu.mark_step()
        for x, y in zip(inputs, results, strict=True):
            try:
                torch.testing.assert_close(y.cpu(), function(x), **CLOSE[dtype])
            except AssertionError:
                wrong.append((name, len(x)))
    assert not wrong


@pytest.mark.parametrize("other", [1.0, 2.0, -1.0, 0.0])
def test_atan2_with_a_constant(other):
    y = torch.linspace(-8, 8, 361)
    constant = torch.full((361,), other)
    expected = torch.atan2(y, constant)
    torch.testing.assert_close(torch.atan2(y.to("tpu"), torch.full((361,), other, device="tpu")).cpu(), expected)
    torch.testing.assert_close(torch.atan2(y.to("tpu"), torch.tensor(other)).cpu(), expected)
