"""Timing that peers share: interleaved rounds after a warm-up, then min, median, max of each side and their ratio."""

from __future__ import annotations

import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from smollm2 import model_folder  # noqa: F401


@dataclass
class Timing:
    """Seconds of one side over all rounds."""

    seconds: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def text(self, unit: float, digits: int = 2) -> str:
        low, mid, high = min(self.seconds), self.median, max(self.seconds)
        return "/".join(f"{s / unit:.{digits}f}" for s in (low, mid, high))


def interleaved(sides: dict[str, Callable[[], None]], rounds: int = 7, warmup: int = 1) -> dict[str, Timing]:
    """Runs every side once a round, in turn, so that a slow moment of the machine falls on all of them."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for round_number in range(-warmup, rounds):
        for name, run in sides.items():
            start = time.perf_counter()
            run()
            if round_number >= 0:
                taken[name].append(time.perf_counter() - start)
    return {name: Timing(seconds) for name, seconds in taken.items()}


def machine() -> str:
    """One line: processor, cores, torch, plugin and commit."""
    import torch

    model = platform.processor() or "unknown"
    with open("/proc/cpuinfo") as info:
        for line in info:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    plugin = torch.tpu.get_device_name() if torch.tpu.is_available() else "none"
    threads = torch.get_num_threads()
    return f"{model}, {threads} threads, torch {torch.__version__}, plugin {plugin}, commit {commit or 'unknown'}"
