"""torch_xla.core.xla_model on the device `tpu`. Processes are those of torch.distributed, when it is initialised."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist


class _Closures(threading.local):
    def __init__(self) -> None:
        self.waiting: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []


_closures = _Closures()


# --- devices and processes


def xla_device(n: int | None = None, devkind: str | None = None) -> torch.device:
    """The current tpu device, or number `n`. `devkind` is ignored: there is one kind."""
    index = torch.tpu.current_device() if n is None else n
    if index >= torch.tpu.device_count():
        raise RuntimeError(f"there is no tpu:{index}, this process has {torch.tpu.device_count()} of them")
    return torch.device("tpu", index)


def xla_device_hw(device: str | torch.device) -> str:
    """The hardware behind a device: "TPU", "CPU", "CUDA"."""
    return torch.tpu.get_device_properties(device).platform.upper()


def get_xla_supported_devices(devkind: str | None = None, max_devices: int | None = None) -> list[str]:
    """The names of this process's devices."""
    return [f"tpu:{index}" for index in range(torch.tpu.device_count())][:max_devices]


def _in_a_group() -> bool:
    return dist.is_available() and dist.is_initialized()


def xrt_world_size(defval: int = 1) -> int:
    """The number of processes; `defval` when there is no process group."""
    return dist.get_world_size() if _in_a_group() else defval


def get_ordinal(defval: int = 0) -> int:
    """This process's number; `defval` when there is no process group."""
    return dist.get_rank() if _in_a_group() else defval


def get_local_ordinal(defval: int = 0) -> int:
    """This process's number on its host; `defval` when there is no process group."""
    return dist.get_node_local_rank(fallback_rank=defval) if _in_a_group() else defval


def is_master_ordinal(local: bool = True) -> bool:
    """True in the first process, of the host or of all."""
    return (get_local_ordinal() if local else get_ordinal()) == 0


def master_print(*args: Any, fd: Any = None, local: bool = False, flush: bool = False) -> None:
    """print() in the first process."""
    if is_master_ordinal(local):
        print(*args, file=fd or sys.stdout, flush=flush)


# --- steps


def mark_step(wait: bool = False) -> None:
    """Starts what is pending, then runs the step closures. Waits for the device when asked."""
    torch.tpu.mark_step()
    if wait:
        torch.tpu.synchronize()
    waiting, _closures.waiting = _closures.waiting, []
    for closure, args in waiting:
        closure(*args)


def add_step_closure(closure: Callable[..., Any], args: tuple[Any, ...] = (), run_async: bool = False) -> None:
    """Calls `closure(*args)` at the next mark_step(), where looking at values splits no program. `run_async` is
    ignored: it is called there and then."""
    _closures.waiting.append((closure, tuple(args)))


def wait_device_ops(devices: Sequence[str | torch.device] = ()) -> None:
    """Waits until the devices, all of them by default, have done everything."""
    for device in devices or get_xla_supported_devices():
        torch.tpu.synchronize(device)


def optimizer_step(
    optimizer: torch.optim.Optimizer,
    barrier: bool = False,
    optimizer_args: dict[str, Any] | None = None,
    groups: Any = None,
    pin_layout: bool = True,
) -> Any:
    """Averages the gradients over the processes, when there are several, and steps. `barrier` adds a mark_step()."""
    world = xrt_world_size()
    if world > 1:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    dist.all_reduce(parameter.grad, group=groups)
                    parameter.grad /= world
    loss = optimizer.step(**(optimizer_args or {}))
    if barrier:
        mark_step()
    return loss


# --- saving, meeting, memory


def _to_cpu(data: Any) -> Any:
    if isinstance(data, torch.Tensor):
        return data.cpu()
    if isinstance(data, dict):
        moved = {key: _to_cpu(value) for key, value in data.items()}
        return type(data)(moved) if type(data) is not dict else moved
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(_to_cpu(value) for value in data))
    if isinstance(data, (list, tuple)):
        return type(data)(_to_cpu(value) for value in data)
    return data


def save(data: Any, file_or_path: Any, master_only: bool = True, global_master: bool = False) -> None:
    """torch.save() of CPU copies, in the first process only unless told otherwise; then all processes meet."""
    moved = _to_cpu(data)
    if not master_only or is_master_ordinal(local=not global_master):
        torch.save(moved, file_or_path)
    rendezvous("torch_xla.core.xla_model.save")


def rendezvous(tag: str, payload: bytes = b"", replicas: Sequence[int] = ()) -> list[bytes]:
    """Waits until all processes are here and returns everybody's payload."""
    if xrt_world_size() == 1:
        return [payload]
    payloads: list[Any] = [None] * xrt_world_size()
    dist.all_gather_object(payloads, payload)
    return [payloads[index] for index in replicas] if replicas else payloads


def get_memory_info(device: str | torch.device | None = None) -> dict[str, int]:
    """bytes_used, bytes_limit, peak_bytes_used, and kb_free, kb_total for older programs."""
    free, total = torch.tpu.mem_get_info(device)
    return {
        "bytes_used": torch.tpu.memory_allocated(device),
        "bytes_limit": total,
        "peak_bytes_used": torch.tpu.max_memory_allocated(device),
        "kb_free": free // 1024,
        "kb_total": total // 1024,
    }
