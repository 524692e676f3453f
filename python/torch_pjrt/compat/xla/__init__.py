"""The few names of torch_xla that programs for one TPU use, on the device `tpu`. Part of torch-pjrt."""

from __future__ import annotations

import torch


def device(index: int | None = None) -> torch.device:
    """The current device, or the one with this index."""
    return torch.device("tpu", torch.tpu.current_device() if index is None else index)


def sync(wait: bool = False) -> None:
    """Starts what is pending; waits for it when asked."""
    from torch_xla.core import xla_model

    xla_model.mark_step(wait=wait)
