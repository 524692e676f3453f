"""torch_xla.amp on the device `tpu`: PyTorch's own."""

from __future__ import annotations

from typing import Any

import torch


class autocast(torch.autocast):
    """torch.autocast for tpu; the device is taken for torch_xla's sake."""

    def __init__(self, device: Any = None, dtype: torch.dtype = torch.bfloat16, enabled: bool = True, **kwargs: Any):
        super().__init__("tpu", dtype=dtype, enabled=enabled, **kwargs)


class GradScaler(torch.amp.GradScaler):
    """torch.amp.GradScaler for tpu."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.pop("use_zero_grad", None)
        super().__init__("tpu", **kwargs)
