"""Device memory, in bytes. Counted is what live tensors and loaded programs' results need; nothing is kept back in a
pool, so "reserved" equals "allocated". TORCH_PJRT_MEMORY_LIMIT lowers what a device may use."""

from __future__ import annotations

import gc
from typing import Any

import torch

from torch_pjrt import _C
from torch_pjrt.text import format_bytes


def _device_index(device: int | str | torch.device | None) -> int:
    from torch_pjrt import device as devices

    return devices._index(device)


def memory_stats(device: int | str | torch.device | None = None) -> dict[str, Any]:
    """Bytes and counts by the names that torch.cuda.memory_stats() has; empty before the first use of a device."""
    # A process that has not used a device has no memory there, and asking must not make the client.
    if not _C.is_initialized() or _C.in_bad_fork():
        return {}
    return _C.memory_stats(_device_index(device))


def memory_allocated(device: int | str | torch.device | None = None) -> int:
    """Bytes in use now."""
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device: int | str | torch.device | None = None) -> int:
    """The most bytes in use since the start or reset_peak_memory_stats()."""
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device: int | str | torch.device | None = None) -> int:
    """The same as memory_allocated(): there is no pool."""
    return memory_allocated(device)


def max_memory_reserved(device: int | str | torch.device | None = None) -> int:
    """The same as max_memory_allocated(): there is no pool."""
    return max_memory_allocated(device)


memory_cached = memory_reserved
max_memory_cached = max_memory_reserved


def mem_get_info(device: int | str | torch.device | None = None) -> tuple[int, int]:
    """(free, total) in bytes."""
    return tuple(_C.mem_get_info(_device_index(device)))


def host_memory_stats() -> dict[str, Any]:
    """Empty: pinned host memory is not pooled. For code written for CUDA."""
    return {}


def reset_peak_memory_stats(device: int | str | torch.device | None = None) -> None:
    """max_memory_allocated() starts again from what is in use now."""
    _C.reset_peak_memory_stats(_device_index(device))


reset_max_memory_allocated = reset_peak_memory_stats


def reset_accumulated_memory_stats(device: int | str | torch.device | None = None) -> None:
    """Does nothing: no counts are accumulated. For code written for CUDA."""


def set_per_process_memory_fraction(fraction: float, device: int | str | torch.device | None = None) -> None:
    """Lets this process use only a part, 0 to 1, of a device's memory; beyond it torch.OutOfMemoryError is raised.
    Another number is a ValueError."""
    if not isinstance(fraction, (int, float)):
        raise TypeError(f"expected a number, got {type(fraction).__name__}")
    if not 0 <= fraction <= 1:
        raise ValueError(f"expected a fraction from 0 to 1, got {fraction}")
    index = _device_index(device)
    _C.set_memory_limit(index, max(1, int(fraction * _C.device_info(index)["total_memory"])))


def empty_cache() -> None:
    """Frees what Python's garbage collector still holds. There is no pool that could be emptied."""
    gc.collect()
    if _C.is_initialized() and not _C.in_bad_fork():
        _C.empty_cache()


def memory_summary(device: int | str | torch.device | None = None, abbreviated: bool = False) -> str:
    """A table of memory_stats() for people."""
    index = _device_index(device)
    free, total = mem_get_info(index)
    rows = [
        ("in use", format_bytes(memory_allocated(index))),
        ("peak", format_bytes(max_memory_allocated(index))),
        ("free", format_bytes(free)),
        ("total", format_bytes(total)),
        ("buffers", str(memory_stats(index)["allocation.all.current"])),
    ]
    lines = [f"tpu:{index} ({_C.device_info(index)['kind']})"]
    return "\n".join(lines + [f"  {name:<8}{text:>12}" for name, text in rows])
