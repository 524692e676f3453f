"""Settings of all tests: nothing is downloaded, the disk cache is private, an op on the CPU is an error."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

# Before torch: it loads the device, which reads these once.
os.environ["TORCH_PJRT_CACHE_DIR"] = tempfile.mkdtemp(prefix="torch-pjrt-tests-")
os.environ["HF_HUB_OFFLINE"] = "1"

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))


def pytest_configure() -> None:
    torch.tpu.set_fallback_mode("error")


def pytest_unconfigure() -> None:
    shutil.rmtree(os.environ["TORCH_PJRT_CACHE_DIR"], ignore_errors=True)


Child = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def child() -> Child:
    """Runs Python code in a process of its own: `child("print(1)", TORCH_PJRT_PLUGIN="cpu")`. A variable that is None
    is unset."""

    def run(code: str, seconds: float = 120, **variables: str | None) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **{name: value for name, value in variables.items() if value is not None}}
        for name, value in variables.items():
            if value is None:
                environment.pop(name, None)
        command = [sys.executable, "-c", code]
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=environment)

    return run


@pytest.fixture
def default_seed() -> Iterator[None]:
    """Leaves the generators as they were."""
    states = torch.tpu.get_rng_state_all()
    yield
    torch.tpu.set_rng_state_all(states)
