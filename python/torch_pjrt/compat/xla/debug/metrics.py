"""torch_xla.debug.metrics on the device `tpu`: the counts of torch.tpu, under names that say what they are."""

from __future__ import annotations

from typing import Any

import torch


def _counters() -> dict[str, int]:
    counted = {f"tpu::{name}": value for name, value in torch.tpu.compile_stats().items() if isinstance(value, int)}
    for name, calls in torch.tpu.fallback_stats().items():
        counted[name] = calls  # "aten::op", as torch_xla names what ran on the CPU
    return counted


def counter_names() -> list[str]:
    """Names of what was counted; an "aten::" name is an op that ran on the CPU."""
    return [name for name, value in _counters().items() if value]


def counter_value(name: str) -> int | None:
    """The count, or None."""
    return _counters().get(name)


def metric_names() -> list[str]:
    """Names of what was measured."""
    return ["CompileTime"]


def metric_data(name: str) -> tuple[int, float, list[Any]] | None:
    """(number of samples, nanoseconds in all, []) of "CompileTime", else None."""
    if name != "CompileTime":
        return None
    stats = torch.tpu.compile_stats()
    return stats["compiles"], stats["compile_seconds"] * 1e9, []


def metrics_report() -> str:
    """All counts as text."""
    stats = torch.tpu.compile_stats()
    lines = [
        "Metric: CompileTime",
        f"  TotalSamples: {stats['compiles']}",
        f"  Accumulator: {stats['compile_seconds']:.3f}s",
    ]
    for name, value in sorted(_counters().items()):
        lines += [f"Counter: {name}", f"  Value: {value}"]
    return "\n".join(lines) + "\n"


def short_metrics_report(counter_names: list[str] | None = None, metric_names: list[str] | None = None) -> str:
    """The counts with these names, by default all."""
    chosen = {k: v for k, v in _counters().items() if counter_names is None or k in counter_names}
    return "".join(f"Counter: {name}\n  Value: {value}\n" for name, value in sorted(chosen.items()))


def clear_all() -> None:
    """Counts start at 0 again."""
    torch.tpu.reset_stats()


clear_counters = clear_metrics = clear_all
