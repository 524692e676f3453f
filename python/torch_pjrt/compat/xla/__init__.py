"""The names of torch_xla that programs for TPUs use, on the device `tpu`. Part of torch-pjrt."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch


def device(index: int | None = None) -> torch.device:
    """The current device, or the one with this index."""
    return torch.device("tpu", torch.tpu.current_device() if index is None else index)


def devices() -> list[torch.device]:
    """This process's devices."""
    return [torch.device("tpu", index) for index in range(torch.tpu.device_count())]


real_devices = devices


def device_count() -> int:
    """The number of this process's devices."""
    return torch.tpu.device_count()


def sync(wait: bool = False, reset_scope: bool = True) -> None:
    """Starts what is pending; waits for it when asked. `reset_scope` is ignored."""
    from torch_xla.core import xla_model

    xla_model.mark_step(wait=wait)


@contextlib.contextmanager
def step() -> Iterator[None]:
    """`with torch_xla.step():` or `@torch_xla.step()`: the body is a program of its own."""
    sync()
    try:
        yield
    finally:
        sync()


def compile(f: Callable[..., Any] | None = None, full_graph: bool = False, name: str | None = None, **_: Any) -> Any:
    """Runs `f` as one step, or, without `f`, is a step() to enter. `full_graph` refuses looks at values inside:
    RuntimeError. Names and limits of traces are ignored."""

    @contextlib.contextmanager
    def traced() -> Iterator[None]:
        before = torch.tpu.get_sync_debug_mode()
        with step():
            if full_graph:
                torch.tpu.set_sync_debug_mode("error")
            try:
                yield
            finally:
                torch.tpu.set_sync_debug_mode(before)

    return traced() if f is None else traced()(f)


def manual_seed(seed: int, device: torch.device | None = None) -> None:
    """Seeds the generators of this process's devices."""
    torch.tpu.manual_seed_all(seed)


def launch(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), start_method: str = "spawn", debug_single_process: bool = False
) -> None:
    """Calls `fn(index, *args)` in this process, which drives all of its devices; under torchrun that is one of the
    job's processes. `start_method` is ignored: nothing is started."""
    from torch_xla.distributed import xla_multiprocessing

    xla_multiprocessing.spawn(fn, args, nprocs=1 if debug_single_process else None)


def __getattr__(name: str) -> Any:
    # Submodules are imported, not asked for; dunder names are asked by the import system.
    if not name.startswith("__"):
        known = sorted(key for key, value in globals().items() if callable(value) and value.__module__ == __name__)
        raise AttributeError(
            f"torch_xla.{name} is not among the names that torch-pjrt serves ({', '.join(known)}; submodules amp, "
            "core.xla_model, debug.metrics, distributed.parallel_loader, distributed.xla_multiprocessing, runtime)"
        )
    raise AttributeError(name)
