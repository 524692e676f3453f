"""torch_xla.runtime on the device `tpu`: how many devices and processes there are. A process drives all devices of its
host; processes are those of torch.distributed."""

from __future__ import annotations

import os

import torch
from torch_xla.core import xla_model


def device_type() -> str:
    """The hardware: "TPU", "CPU", "CUDA"."""
    return xla_model.xla_device_hw(torch.device("tpu", torch.tpu.current_device()))


def world_size() -> int:
    """The number of processes of the job."""
    return xla_model.xrt_world_size()


process_count = world_size


def global_ordinal() -> int:
    """This process's number in the job."""
    return xla_model.get_ordinal()


process_index = host_index = global_ordinal


def local_ordinal() -> int:
    """This process's number on its host."""
    return xla_model.get_local_ordinal()


def addressable_device_count() -> int:
    """The number of devices of this process."""
    return torch.tpu.device_count()


local_device_count = addressable_runtime_device_count = addressable_device_count


def global_device_count() -> int:
    """The number of devices of the job, taking every process to have as many as this one."""
    return addressable_device_count() * world_size()


global_runtime_device_count = global_device_count


def local_process_count() -> int:
    """The number of processes on this host."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def using_pjrt() -> bool:
    """True: there is nothing else."""
    return True


def is_spmd() -> bool:
    """False: a mesh is not made by this module."""
    return False


def initialize_cache(path: str, readonly: bool = False) -> None:
    """RuntimeError: the cache of compiled programs is on by default; its folder must be known before the first use of
    the device, by TORCH_PJRT_CACHE_DIR (or TORCH_PJRT_CACHE_READONLY)."""
    name = "TORCH_PJRT_CACHE_READONLY" if readonly else "TORCH_PJRT_CACHE_DIR"
    if os.environ.get(name) != path:
        raise RuntimeError(f"set {name}={path} before the program starts: torch-pjrt reads it once")
