"""One case of the sweep: what it runs, how its results are compared, and what is written down about it."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import time
import tomllib
import unittest
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch.testing._internal.common_device_type import precisionOverride, toleranceOverride
from torch.testing._internal.common_utils import TestCase
from torch.utils import _pytree

RESULTS = "TORCH_PJRT_CONFORMANCE_RESULTS"  # a file of JSON lines, or unset


@functools.cache
def skips() -> dict[tuple[str, ...], str]:
    """Reasons by (kind, name) or (kind, name, dtype); the kind "*" means all kinds."""
    table = tomllib.loads((Path(__file__).parent / "skips.toml").read_text())
    return {tuple(key.split()): reason for key, reason in table["skips"].items()}


def skip_reason(kind: str, name: str, dtype: str) -> str | None:
    for key in ((kind, name, dtype), (kind, name), ("*", name, dtype), ("*", name)):
        if key in skips():
            return skips()[key]
    return None


def short(dtype: torch.dtype | None) -> str:
    return str(dtype).removeprefix("torch.") if dtype is not None else ""


@contextlib.contextmanager
def case(kind: str, name: str, dtype: torch.dtype | None) -> Iterator[dict[str, Any]]:
    """Counts how the ops of the body were served and writes down the outcome. The body may add to what is written."""
    record: dict[str, Any] = {"kind": kind, "name": name, "dtype": short(dtype)}
    reason = skip_reason(kind, name, short(dtype))
    if reason is not None:
        _write({**record, "outcome": "skipped", "message": reason})
        raise unittest.SkipTest(reason)
    torch.tpu.reset_stats()
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield record
    except unittest.SkipTest:
        raise
    except BaseException as error:
        _write({**record, "outcome": "failed", "message": f"{type(error).__name__}: {error}"[:400], **_served()})
        raise
    served = {**_served(), "seconds": round(time.perf_counter() - start, 2)}
    outcome = "cpu" if served["cpu"] else "decomposed" if served["decomposed"] else "lowered"
    _write({**record, "outcome": outcome, **served})


def _served() -> dict[str, list[str]]:
    return {"cpu": sorted(torch.tpu.fallback_stats()), "decomposed": sorted(torch.tpu.decomposition_stats())}


def _write(record: dict[str, Any]) -> None:
    path = os.environ.get(RESULTS)
    if not path:
        return
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps(record) + "\n")


def move(tree: Any, device: str) -> Any:
    """Copies of the tensors on `device`, as leaves that need gradients where the originals do; devices are renamed."""

    def one(x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            copy = x.detach().clone() if x.device.type == device else x.detach().to(device)
            return copy.requires_grad_(x.requires_grad)
        if isinstance(x, torch.device) or x in ("cpu", "tpu"):
            return device
        return x

    return _pytree.tree_map(one, tree, is_leaf=lambda x: isinstance(x, (torch.device, str)))


def to_cpu(tree: Any) -> Any:
    return _pytree.tree_map(lambda x: x.detach().cpu() if isinstance(x, torch.Tensor) else x, tree)


def tensors_of(tree: Any) -> list[torch.Tensor]:
    return [x for x in _pytree.tree_leaves(tree) if isinstance(x, torch.Tensor)]


class Compared(TestCase):
    """Compares at OpInfo's tolerances: the dtype's default, or the larger one that the op's own entry asks for."""

    @contextlib.contextmanager
    def together(self) -> Iterator[list[tuple[Any, Any, bool]]]:
        """Takes (got, expected, random) and compares at the end: what all samples do is then one program, which
        compiles in a third of the time of one each. Hence no work starts at the end of a backward pass."""
        results: list[tuple[Any, Any, bool]] = []
        engine = torch.autograd._engine_run_backward
        with mock.patch("torch.autograd._engine_run_backward", getattr(engine, "__wrapped__", engine)):
            yield results
        torch.tpu.mark_step()
        for got, expected, random in results:
            self.equal(got, expected, random)

    def equal(self, got: Any, expected: Any, random: bool) -> None:
        """Sizes and dtypes agree, and values unless they are random; results lie on the device."""
        for a, b in zip(tensors_of(got), tensors_of(expected), strict=True):
            assert a.device.type == "tpu", f"a result lies on {a.device}"
            if random:
                self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
        if not random:
            self.assertEqual(to_cpu(got), to_cpu(expected))

    def use_tolerance_of(self, op: Any, dtype: torch.dtype) -> None:
        for test in ("test_compare_cpu", "test_variant_consistency_eager"):
            for decorator in op.get_decorators("TestCommon", test, "tpu", dtype, {}):
                if isinstance(decorator, toleranceOverride) and dtype in decorator.d:
                    wanted = decorator.d[dtype]
                    self.precision = max(self.precision, wanted.atol)
                    self.rel_tol = max(self.rel_tol, wanted.rtol)
                elif isinstance(decorator, precisionOverride) and dtype in decorator.d:
                    self.precision = max(self.precision, decorator.d[dtype])


# Their elements are whatever lay in memory.
UNINITIALISED = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_")


def is_random(name: str, call: Callable[[], Any], expected: Any) -> bool:
    """Two calls on the CPU differ: then on tpu only sizes and types can be compared."""
    if name in UNINITIALISED:
        return True
    # OpInfo's wrappers of random ops set a seed themselves.
    seed = torch.manual_seed
    with mock.patch("torch.manual_seed", lambda number: seed(number + 1)):
        again = call()
    for a, b in zip(tensors_of(expected), tensors_of(again), strict=False):
        if a.shape != b.shape or not torch.equal(_bits(a), _bits(b)):
            return True
    return False


def _bits(x: torch.Tensor) -> torch.Tensor:
    x = x.detach()
    x = torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
    return torch.nan_to_num(x, nan=7.0) if x.is_floating_point() else x
