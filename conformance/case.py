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
from dataclasses import dataclass
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
    # Stands where the process ends before it can say more: a later record of the case replaces it.
    _write({**record, "outcome": "failed", "message": "the process ended"})
    torch.tpu.reset_stats()
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield record
    except unittest.SkipTest as skip:
        _write({**record, "outcome": "skipped", "message": str(skip)})
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


WIDER = {
    torch.bfloat16: torch.float64,
    torch.float16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}


def move(tree: Any, device: str, wider: bool = False) -> Any:
    """Copies of the tensors on `device`, as leaves that need gradients where the originals do; devices are renamed.
    Views of larger storages stay such views. `wider` makes floating types double."""

    def one(x: Any) -> Any:
        if getattr(x, "stays_on_the_cpu", False):
            return x
        if isinstance(x, torch.Tensor):
            return _copy(x, device, WIDER.get(x.dtype, x.dtype) if wider else x.dtype)
        if isinstance(x, torch.dtype) and wider:
            return WIDER.get(x, x)
        if isinstance(x, torch.device) or (isinstance(x, str) and x in ("cpu", "tpu")):
            return torch.device(device)
        return x

    return _pytree.tree_map(one, tree)


def _copy(x: torch.Tensor, device: str, dtype: torch.dtype) -> torch.Tensor:
    plain = x.detach().resolve_conj().resolve_neg()
    storage = plain.untyped_storage()
    if storage.nbytes() > plain.numel() * plain.element_size():
        whole = torch.empty(0, dtype=plain.dtype).set_(storage)
        copy = whole.clone().to(device, dtype).as_strided(plain.shape, plain.stride(), plain.storage_offset())
    else:
        copy = plain.clone().to(device, dtype)
    copy = copy.conj() if x.is_conj() else copy
    return copy.detach().requires_grad_(x.requires_grad)


def to_cpu(tree: Any) -> Any:
    return _pytree.tree_map(lambda x: x.detach().cpu() if isinstance(x, torch.Tensor) else x, tree)


def tensors_of(tree: Any) -> list[torch.Tensor]:
    return [x for x in _pytree.tree_leaves(tree) if isinstance(x, torch.Tensor)]


@dataclass
class Result:
    got: Any
    expected: Any
    random: bool = False  # only sizes and dtypes can be compared
    precise: Callable[[], Any] | None = None  # the CPU's result in double precision


class _Results(list[Result]):
    def append(self, result: Result) -> None:
        super().append(result)
        # The time of a compilation grows faster than the program.
        if len(self) % 8 == 0:
            torch.tpu.mark_step()


class Compared(TestCase):
    """Compares at OpInfo's tolerances: the dtype's default, or the larger one that the op's own entry asks for."""

    @contextlib.contextmanager
    def together(self) -> Iterator[list[Result]]:
        """Takes results and compares them at the end: what some samples do is then one program, which
        compiles in a third of the time of one each. Hence no work starts at the end of a backward pass."""
        results = _Results()
        engine = torch.autograd._engine_run_backward
        with mock.patch("torch.autograd._engine_run_backward", getattr(engine, "__wrapped__", engine)):
            yield results
        torch.tpu.mark_step()
        for result in results:
            self.equal(result)

    def equal(self, result: Result) -> None:
        """Results lie on the device; sizes, dtypes and values agree."""
        for a, b in zip(tensors_of(result.got), tensors_of(result.expected), strict=True):
            assert a.device.type == "tpu", f"a result lies on {a.device}"
            if result.random:
                self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
        if result.random:
            return
        got, expected = to_cpu(result.got), to_cpu(result.expected)
        try:
            self.assertEqual(got, expected)
        except AssertionError:
            # PyTorch's tests of its reference implementations have it, too: a result that is as near to the one in
            # double precision as the CPU's is not wrong. A tenth is left for the luck of rounding.
            if result.precise is None or not _is_nearer(got, expected, to_cpu(result.precise())):
                raise

    def use_tolerance_of(self, op: Any, dtype: torch.dtype) -> None:
        for test in ("test_compare_cpu", "test_variant_consistency_eager"):
            for decorator in op.get_decorators("TestCommon", test, "tpu", dtype, {}):
                if isinstance(decorator, toleranceOverride) and dtype in decorator.d:
                    wanted = decorator.d[dtype]
                    self.precision = max(self.precision, wanted.atol)
                    self.rel_tol = max(self.rel_tol, wanted.rtol)
                elif isinstance(decorator, precisionOverride) and dtype in decorator.d:
                    self.precision = max(self.precision, decorator.d[dtype])


def _is_nearer(got: Any, expected: Any, precise: Any) -> bool:
    groups = [tensors_of(tree) for tree in (got, expected, precise)]
    if len({tuple(x.shape for x in group) for group in groups}) != 1:
        return False
    for a, b, exact in zip(*groups, strict=True):
        if a.dtype != b.dtype or _distance(a, exact) > 1.1 * _distance(b, exact):
            return False
    return True


def _distance(x: torch.Tensor, exact: torch.Tensor) -> float:
    x = x.to(exact.dtype)
    same = (x == exact) | (torch.isnan(x) & torch.isnan(exact))
    return torch.where(same, 0, (x.to(torch.complex128) - exact.to(torch.complex128)).abs()).sum().item()


# Their elements are whatever lay in memory. (Few elements of a random pooling may be equal by chance, too.)
UNINITIALISED = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_")


def is_random(name: str, call: Callable[[], Any], expected: Any) -> bool:
    """Two calls on the CPU differ: then on tpu only sizes and types can be compared."""
    if name in UNINITIALISED or "fractional_max_pool" in name:
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
