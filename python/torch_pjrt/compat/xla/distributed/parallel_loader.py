"""torch_xla.distributed.parallel_loader on the device `tpu`: loaders whose batches lie on the device. Before each batch
what is pending is started, so one program is one step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch_xla.core import xla_model


def _to_device(batch: Any, device: torch.device) -> Any:
    if isinstance(batch, dict):
        moved = {key: _to_device(value, device) for key, value in batch.items()}
        return moved if type(batch) is dict else type(batch)(moved)
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(_to_device(value, device) for value in batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(_to_device(value, device) for value in batch)
    # Tensors, and containers such as Transformers' BatchEncoding.
    return batch.to(device) if hasattr(batch, "to") else batch


class PerDeviceLoader:
    """The batches of a loader on one device."""

    def __init__(self, loader: Iterable[Any], device: torch.device, batches_per_execution: int = 1) -> None:
        self._loader = loader
        self._device = device
        self._batches_per_execution = batches_per_execution

    def __iter__(self) -> Iterator[Any]:
        for number, batch in enumerate(self._loader):
            if number % self._batches_per_execution == 0:
                xla_model.mark_step()
            yield _to_device(batch, self._device)
        xla_model.mark_step()

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]


class ParallelLoader:
    """`ParallelLoader(loader, [device]).per_device_loader(device)`. Arguments about queues and threads are ignored:
    a copy to the device does not wait for the device."""

    def __init__(
        self,
        cpu_loader: Iterable[Any],
        devices: Sequence[str | torch.device],
        batches_per_execution: int = 1,
        **_: Any,
    ) -> None:
        self._loader = cpu_loader
        self._devices = [torch.device(device) for device in devices]
        self._batches_per_execution = batches_per_execution
        if len(self._devices) != 1:
            raise ValueError(f"expected one device for this process, got {len(self._devices)}")

    def per_device_loader(self, device: str | torch.device) -> PerDeviceLoader:
        """The loader of a device. ValueError when it was not named in the constructor."""
        if torch.device(device) not in self._devices:
            raise ValueError(f"expected one of {self._devices}, got {device}")
        return PerDeviceLoader(self._loader, torch.device(device), self._batches_per_execution)

    def close(self) -> None:
        """Does nothing: there are no threads to stop."""


class MpDeviceLoader:
    """Wraps a loader so that its batches lie on a device. Other attributes are the wrapped loader's."""

    def __init__(self, loader: Any, device: str | torch.device, **kwargs: Any) -> None:
        self._loader = loader
        self._device = torch.device(device)
        self._kwargs = kwargs

    def __iter__(self) -> Iterator[Any]:
        return iter(ParallelLoader(self._loader, [self._device], **self._kwargs).per_device_loader(self._device))

    def __len__(self) -> int:
        return len(self._loader)

    def __getattr__(self, name: str) -> Any:
        # Also asked while unpickling, before __init__.
        if name == "_loader":
            raise AttributeError(name)
        return getattr(self._loader, name)
