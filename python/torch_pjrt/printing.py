"""print(tensor) on tpu reads the device once: the text is made from a copy on the host.

Without it torch formats element by element on the device, which takes dozens of host reads and small programs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import _tensor_str

_format = _tensor_str._tensor_str


def install() -> None:
    _tensor_str._tensor_str = _format_on_host


def _format_on_host(tensor: torch.Tensor, *args: Any) -> str:
    if tensor.device.type == "tpu":
        tensor = tensor.detach().cpu()
    return _format(tensor, *args)
