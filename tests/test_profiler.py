"""torch.profiler sees what the device does, by the names of the user's ops."""

from __future__ import annotations

import itertools
import json

import pytest
import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile


def layer(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x @ w) @ w


@pytest.fixture
def weight() -> torch.Tensor:
    w = torch.randn(64, 64).to("tpu")
    layer(torch.randn(4, 64).to("tpu"), w).cpu()
    return w


def test_programs_and_transfers_are_device_activity(weight: torch.Tensor) -> None:
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as run:
        for _ in range(3):
            layer(torch.randn(4, 64).to("tpu"), weight).cpu()
    device = [event for event in run.events() if event.device_type == DeviceType.PrivateUse1]
    names = [event.name for event in device]
    assert names.count("aten::mm, aten::gelu") == 3
    assert names.count("Memcpy HtoD") == names.count("Memcpy DtoH") == 3
    assert all(event.device_time > 0 for event in device)
    table = run.key_averages()
    assert "TPU time avg" in table.table()
    program = next(row for row in table if row.key == "aten::mm, aten::gelu")
    assert program.count == 3 and program.device_time_total > 0
    # The dispatch of the ops is the host's part.
    assert next(row for row in table if row.key == "aten::gelu").cpu_time_total > 0


def test_a_device_does_one_program_after_the_other(weight: torch.Tensor, tmp_path) -> None:
    with profile() as run:
        for _ in range(4):
            layer(torch.randn(4, 64).to("tpu"), weight)
            torch.tpu.synchronize()
    run.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    programs = sorted((e for e in events if e.get("cat") == "kernel"), key=lambda e: e["ts"])
    for before, after in itertools.pairwise(programs):
        assert before["ts"] + before["dur"] <= after["ts"] + 0.002  # microseconds, rounded to nanoseconds


def test_a_compilation_has_its_own_row(tmp_path) -> None:
    x = torch.randn(3, 41).to("tpu")
    with profile() as run:
        (x.softmax(0) + x.cosh()).sum().item()
    run.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    compiled = [e for e in events if e.get("cat") == "privateuse1_runtime"]
    assert len(compiled) == 1 and compiled[0]["name"].startswith("compile aten::_softmax")


def test_what_is_pending_before_and_after_does_not_count(weight: torch.Tensor) -> None:
    pending = layer(torch.randn(4, 64).to("tpu"), weight)
    with profile() as run:
        x = torch.randn(5, 5)
        x + x
    layer(torch.randn(4, 64).to("tpu"), weight).cpu()
    assert not [event for event in run.events() if event.device_type == DeviceType.PrivateUse1]
    assert pending.shape == (4, 64)
