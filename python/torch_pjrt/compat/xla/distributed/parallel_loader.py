"""torch_xla.distributed.parallel_loader on the device `tpu`: loaders whose batches lie on the device. A thread of its
own reads batches and moves them while the program computes. Before each batch what is pending is started, so one
program is one step."""

from __future__ import annotations

import queue
import threading
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


class _Prefetch:
    """Reads ahead on a thread; at most `ahead` batches wait. An error of the loader is raised where its batch would
    come. close() ends the thread at its next batch."""

    _END = object()

    def __init__(self, loader: Iterable[Any], device: torch.device, ahead: int) -> None:
        self._queue: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(max(1, ahead))
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(loader, device), name="MpDeviceLoader", daemon=True)
        self._thread.start()

    def _read(self, loader: Iterable[Any], device: torch.device) -> None:
        try:
            for batch in loader:
                if not self._put((_to_device(batch, device), None)):
                    return
            self._put((self._END, None))
        except BaseException as error:
            self._put((self._END, error))

    def _put(self, item: tuple[Any, BaseException | None]) -> bool:
        while not self._closed.is_set():
            try:
                self._queue.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def __iter__(self) -> Iterator[Any]:
        while True:
            batch, error = self._queue.get()
            if error is not None:
                raise error
            if batch is self._END:
                return
            yield batch

    def close(self) -> None:
        self._closed.set()
        self._thread.join(timeout=5)


class PerDeviceLoader:
    """The batches of a loader on one device."""

    def __init__(
        self, loader: Iterable[Any], device: torch.device, batches_per_execution: int = 1, ahead: int = 8
    ) -> None:
        self._loader = loader
        self._device = device
        self._batches_per_execution = batches_per_execution
        self._ahead = ahead

    def __iter__(self) -> Iterator[Any]:
        batches = _Prefetch(self._loader, self._device, self._ahead)
        try:
            for number, batch in enumerate(batches):
                if number % self._batches_per_execution == 0:
                    xla_model.mark_step()
                yield batch
            xla_model.mark_step()
        finally:
            batches.close()

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]


class ParallelLoader:
    """`ParallelLoader(loader, [device]).per_device_loader(device)`. device_prefetch_size batches (8) wait on the device
    at most; other arguments about queues and threads are ignored."""

    def __init__(
        self,
        cpu_loader: Iterable[Any],
        devices: Sequence[str | torch.device],
        batches_per_execution: int = 1,
        device_prefetch_size: int = 8,
        **_: Any,
    ) -> None:
        self._loader = cpu_loader
        self._ahead = device_prefetch_size
        self._devices = [torch.device(device) for device in devices]
        self._batches_per_execution = batches_per_execution
        if len(self._devices) != 1:
            raise ValueError(f"expected one device for this process, got {len(self._devices)}")

    def per_device_loader(self, device: str | torch.device) -> PerDeviceLoader:
        """The loader of a device. ValueError when it was not named in the constructor."""
        if torch.device(device) not in self._devices:
            raise ValueError(f"expected one of {self._devices}, got {device}")
        return PerDeviceLoader(self._loader, torch.device(device), self._batches_per_execution, self._ahead)

    def close(self) -> None:
        """Does nothing: a loop's thread ends with the loop."""


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
