"""`torch.tpu`: devices, streams, properties and statistics of the device `tpu`.

The plugin is loaded and its client made at the first use of a device, not at import. Functions that take a `device`
accept an index, "tpu", "tpu:1", a torch.device, or None for the current device; another type of device is a ValueError
and an index that does not exist a RuntimeError.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import torch

from torch_pjrt import _C, memory, random

empty_cache = memory.empty_cache
host_memory_stats = memory.host_memory_stats
max_memory_allocated = memory.max_memory_allocated
max_memory_cached = memory.max_memory_cached
max_memory_reserved = memory.max_memory_reserved
mem_get_info = memory.mem_get_info
memory_allocated = memory.memory_allocated
memory_cached = memory.memory_cached
memory_reserved = memory.memory_reserved
memory_stats = memory.memory_stats
memory_summary = memory.memory_summary
reset_accumulated_memory_stats = memory.reset_accumulated_memory_stats
reset_max_memory_allocated = memory.reset_max_memory_allocated
reset_peak_memory_stats = memory.reset_peak_memory_stats
set_per_process_memory_fraction = memory.set_per_process_memory_fraction

get_rng_state = random.get_rng_state
get_rng_state_all = random.get_rng_state_all
initial_seed = random.initial_seed
manual_seed = random.manual_seed
manual_seed_all = random.manual_seed_all
seed = random.seed
seed_all = random.seed_all
set_rng_state = random.set_rng_state
set_rng_state_all = random.set_rng_state_all

_start = threading.RLock()
_failure: str | None = None

# torch's own classes serve every accelerator; theirs default to the current one.
Stream = torch.Stream
Event = torch.Event


# --- start-up


def _lazy_init() -> None:
    """Loads the plugin and makes its client, once. RuntimeError says in one sentence why that failed."""
    global _failure
    if _C.in_bad_fork():
        raise RuntimeError(
            "tpu cannot be used in a forked child of a process that uses it; start the child with the method 'spawn'"
        )
    if _C.is_initialized():
        return
    with _start:
        if _C.is_initialized():
            return
        # A plugin that failed once fails again, perhaps after minutes.
        if _failure is not None:
            raise RuntimeError(_failure)
        from torch_pjrt import boundaries, checkpointing, integrations, plugins

        try:
            plugin = plugins.choose()
            plugins.check_client(plugin)
            _C.init(plugin.path)
        except RuntimeError as error:
            _failure = str(error)
            raise
        boundaries.install()
        checkpointing.install()
        integrations.install_at_start()


def init() -> None:
    """Makes the client now instead of at the first use. RuntimeError says why that failed."""
    _lazy_init()


def is_initialized() -> bool:
    """True when the client exists in this process."""
    return _C.is_initialized() and not _C.in_bad_fork()


def _is_in_bad_fork() -> bool:
    return _C.in_bad_fork()


def is_available() -> bool:
    """True when there is at least one device. Makes the client; never raises."""
    if _C.is_initialized():
        return True
    try:
        _lazy_init()
    except RuntimeError:
        return False
    return _C.device_count() > 0


def why_unavailable() -> str | None:
    """The sentence that says why is_available() is False; None when it is True."""
    return None if is_available() else _failure


# --- devices


def device_count() -> int:
    """The number of devices of this process; 0 when no client can be made."""
    return _C.device_count() if is_available() else 0


def current_device() -> int:
    """The index of the current device of this thread."""
    _lazy_init()
    return _C.current_device()


def set_device(device: int | str | torch.device) -> None:
    """Makes a device this thread's current one; a negative index changes nothing."""
    index = _index(device, allow_negative=True)
    if index >= 0:
        _C.set_device(index)


def _index(device: int | str | torch.device | None, allow_negative: bool = False) -> int:
    _lazy_init()
    if device is None:
        return _C.current_device()
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type != "tpu":
            raise ValueError(f"expected a tpu device, got {device}")
        index = _C.current_device() if device.index is None else device.index
    elif isinstance(device, int):
        index = device
    else:
        raise TypeError(f"expected an index, a string or a torch.device, got {type(device).__name__}")
    if index >= _C.device_count() or (index < 0 and not allow_negative):
        raise RuntimeError(f"there is no tpu:{index}, this process has {_C.device_count()} of them")
    return index


class device:
    """Context manager: another current device inside. Does nothing for None or a negative index."""

    def __init__(self, device: int | str | torch.device | None) -> None:
        self.idx = -1 if device is None else _index(device, allow_negative=True)
        self.prev_idx = -1

    def __enter__(self) -> device:
        self.prev_idx = _exchange_device(self.idx)
        return self

    def __exit__(self, *_: object) -> None:
        _exchange_device(self.prev_idx)


class device_of(device):
    """Context manager: the device of a tensor or storage is current inside. Does nothing for one of another type."""

    def __init__(self, tensor: Any) -> None:
        where = tensor.device
        super().__init__(where if where.type == "tpu" else None)


def _exchange_device(index: int) -> int:
    if index < 0:
        return -1
    before = current_device()
    if index != before:
        _C.set_device(index)
    return before


_maybe_exchange_device = _exchange_device


def synchronize(device: int | str | torch.device | None = None) -> None:
    """Runs what is pending and waits until the device has done everything. Raises what failed there."""
    _C.run_pending()
    _C.synchronize(_index(device))


def mark_step() -> None:
    """Starts everything pending of this thread without waiting for it."""
    if is_initialized():
        _C.run_pending()


def can_device_access_peer(device: int | str | torch.device, peer_device: int | str | torch.device) -> bool:
    """True when one device can read the other's memory: never, copies between devices go through the plugin."""
    _index(device), _index(peer_device)
    return False


# --- streams


def current_stream(device: int | str | torch.device | None = None) -> torch.Stream:
    """The stream that this thread's operations on a device go to."""
    return torch.accelerator.current_stream(_index(device))


def default_stream(device: int | str | torch.device | None = None) -> torch.Stream:
    """Stream 0 of a device."""
    index = _index(device)
    return torch.Stream(stream_id=0, device_index=index, device_type=int(torch._C._autograd.DeviceType.PrivateUse1))


def set_stream(stream: torch.Stream | None) -> None:
    """Makes a stream, and its device, current for this thread; None changes nothing."""
    if stream is not None:
        _lazy_init()
        torch.accelerator.set_stream(stream)


class StreamContext:
    """Context manager: a stream is current inside. Does nothing for None."""

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = stream
        self._before: list[torch.Stream] = []

    def __enter__(self) -> torch.Stream | None:
        if self.stream is not None:
            # The current device changes with the stream, so both streams are put back.
            self._before = [current_stream(), current_stream(self.stream.device)]
            set_stream(self.stream)
        return self.stream

    def __exit__(self, *_: object) -> None:
        if self.stream is not None:
            here, there = self._before
            set_stream(there)
            set_stream(here)


def stream(stream: torch.Stream | None) -> StreamContext:
    """Context manager: `with torch.tpu.stream(s): ...`."""
    return StreamContext(stream)


def is_current_stream_capturing() -> bool:
    """False: there are no graph captures of streams here. For code written for CUDA."""
    return False


# --- properties


@dataclass(frozen=True)
class DeviceProperties:
    """What get_device_properties() gives. `total_memory` is in bytes."""

    name: str
    total_memory: int
    platform: str
    platform_version: str
    id: int
    process_index: int
    plugin: str
    pjrt_api_version: tuple[int, int]
    multi_processor_count: int = 1


def get_device_properties(device: int | str | torch.device | None = None) -> DeviceProperties:
    """Name, memory in bytes, platform ("cpu", "tpu", "cuda"), and the plugin's library and versions."""
    info = _C.device_info(_index(device))
    return DeviceProperties(
        name=info["kind"],
        total_memory=info["total_memory"],
        platform=info["platform"],
        platform_version=info["platform_version"],
        id=info["id"],
        process_index=info["process_index"],
        plugin=info["plugin"],
        pjrt_api_version=info["pjrt_api_version"],
    )


def get_device_name(device: int | str | torch.device | None = None) -> str:
    """What the device really is: "TPU v5 lite", "cpu", or a GPU's name."""
    return _C.device_info(_index(device))["kind"]


def get_device_capability(device: int | str | torch.device | None = None) -> dict[str, Any]:
    """{"supported_dtypes": set of torch.dtype}, as torch.accelerator.get_device_capability gives it."""
    return torch.accelerator.get_device_capability(_index(device))


def get_amp_supported_dtype() -> list[torch.dtype]:
    """The dtypes that torch.autocast("tpu") takes."""
    return [torch.bfloat16, torch.float16]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """True: every plugin computes in bfloat16."""
    return True


def get_arch_list() -> list[str]:
    """Empty: programs are compiled for the device at hand. For code written for CUDA."""
    return []


# --- statistics and switches


def compile_stats() -> dict[str, Any]:
    """Counts since the start or reset_stats(): compiles, compile_seconds, cache_hits (programs that were loaded
    already), disk_hits (loaded from the disk cache), executions, host_syncs (a value was looked at), and what is
    alive now: programs, live_nodes, buffers."""
    return _C.compile_stats()


def reset_stats() -> None:
    """Sets the counts of compile_stats(), fallback_stats() and decomposition_stats() to zero."""
    _C.reset_stats()


def fallback_stats() -> dict[str, int]:
    """Calls by op that ran on the CPU since nothing else was there; empty when none did."""
    return _C.fallback_stats()


def decomposition_stats() -> dict[str, int]:
    """Calls by op that PyTorch's own decomposition served; empty when none did."""
    return _C.decomposition_stats()


def set_fallback_mode(mode: str) -> None:
    """What an op does that is missing: "warn" (default) runs it on the CPU and warns once, "error" raises
    NotImplementedError. Another text is a ValueError."""
    _C.set_fallback_mode(mode)


def get_fallback_mode() -> str:
    """ "warn" or "error": see set_fallback_mode."""
    return _C.fallback_mode()


_SYNC_MODES = {"default": 0, "warn": 1, "error": 2}


def set_sync_debug_mode(mode: int | str) -> None:
    """What a host read (.item(), .cpu(), print) does besides: 0 or "default" nothing, 1 or "warn" warns,
    2 or "error" raises RuntimeError. Another value is a ValueError."""
    number = _SYNC_MODES.get(mode, -1) if isinstance(mode, str) else mode
    if number not in (0, 1, 2):
        raise ValueError(f'expected 0, 1, 2, "default", "warn" or "error", got {mode!r}')
    _C.set_sync_debug_mode(number)


def get_sync_debug_mode() -> int:
    """0, 1 or 2: see set_sync_debug_mode."""
    return _C.get_sync_debug_mode()


def set_detect_nan(enabled: bool) -> None:
    """Checks the floating results of each op for NaN on the device: the next look at a value raises RuntimeError for
    the first op that made one, with its types and the line of the user. Costs a reduction an op."""
    _C.set_detect_nan(bool(enabled))


def get_detect_nan() -> bool:
    """See set_detect_nan."""
    return _C.get_detect_nan()


def __getattr__(name: str) -> Any:
    if name == "default_generators":
        return tuple(_C.default_generator(index) for index in range(device_count()))
    raise AttributeError(f"module 'torch.tpu' has no attribute {name!r}")
