"""torch_xla.distributed.xla_multiprocessing on the device `tpu`. A process drives all devices of its host, so there is
nothing to start; several hosts are started by torchrun, Ray or Kubernetes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch_xla.core import xla_model


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int | None = None,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> None:
    """Calls `fn(index, *args)` in this process; index is its number in the job. `nprocs` is None or 1, as with
    torch_xla's PJRT runtime; ValueError otherwise."""
    if nprocs not in (None, 1):
        raise ValueError(f"expected nprocs of None or 1, since one process drives all local devices, got {nprocs}")
    fn(xla_model.get_ordinal(), *args)
    xla_model.mark_step()


class MpModelWrapper:
    """`wrapper.to(device)` moves a model that was made once; processes are not forked here."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model

    def to(self, device: str | torch.device) -> torch.nn.Module:
        """The model on `device`."""
        return self._model.to(device)


class MpSerialExecutor:
    """Runs a function at once."""

    def run(self, fn: Callable[[], Any]) -> Any:
        """What `fn()` returns."""
        return fn()
