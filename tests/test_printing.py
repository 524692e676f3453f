"""A look by print costs one host read and changes nothing."""

from __future__ import annotations

import torch


def test_print_reads_the_device_once_and_looks_like_the_cpus():
    x = torch.linspace(-1, 2, 24).reshape(4, 6)
    y = x.to("tpu") * 2
    before = torch.tpu.compile_stats()["host_syncs"]
    text = str(y)
    assert torch.tpu.compile_stats()["host_syncs"] == before + 1
    assert text.replace(",\n       device='tpu:0')", ")") == str(x * 2)


def test_a_look_in_the_middle_changes_no_bit():
    torch.manual_seed(0)
    x, w = torch.randn(16, 16).to(torch.bfloat16).to("tpu"), torch.randn(16, 16).to(torch.bfloat16).to("tpu")

    def compute(look: bool) -> torch.Tensor:
        h = torch.nn.functional.silu(x @ w)
        if look:
            str(h)
        return (h.softmax(-1) @ w + h).cpu()

    assert torch.equal(compute(False), compute(True))
