"""PyTorch's own operator, module, optimizer and foreach samples on tpu against the CPU.

Without options a fixed twentieth of the cases runs, which is CI's part; --all runs every one, and --part 2/5 the second
fifth of what is chosen. Ops may run on the CPU here: the outcome of a case says so.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import zlib

import pytest

CI_SHARE = 20  # one case of this many


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="all conformance cases, not the fixed part that CI runs")
    parser.addoption("--part", default="1/1", help="I/N: the I-th of N parts of the conformance cases")


_made = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    # Before the cases import torch: it loads the device, which reads this once. Workers of xdist find it set.
    if "TORCH_PJRT_CACHE_DIR" not in os.environ:
        config.stash[_made] = os.environ["TORCH_PJRT_CACHE_DIR"] = tempfile.mkdtemp(prefix="torch-pjrt-conformance-")


def pytest_unconfigure(config: pytest.Config) -> None:
    folder = config.stash.get(_made, None)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def _number(item: pytest.Item) -> int:
    return zlib.crc32(item.name.encode())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    index, count = (int(text) for text in config.getoption("--part").split("/"))
    ours = [item for item in items if item.path.parent.name == "conformance"]
    chosen = {
        item
        for item in ours
        if (config.getoption("--all") or _number(item) % CI_SHARE == 0)
        and _number(item) // CI_SHARE % count == index - 1
    }
    left_out = [item for item in ours if item not in chosen]
    items[:] = [item for item in items if item not in set(left_out)]
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(autouse=True)
def cpu_is_allowed():
    import torch

    before = torch.tpu.get_fallback_mode()
    torch.tpu.set_fallback_mode("warn")
    yield
    torch.tpu.set_fallback_mode(before)
