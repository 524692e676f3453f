"""Accelerate 1.15 knows no device "tpu": it would choose the CPU, device_map="auto" would stay there, save_state would
leave its random state out, and fp16 is refused."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from torch_pjrt.integrations import random_state
from torch_pjrt.integrations.hooks import when_imported


def install() -> None:
    """Waits for the modules that must be changed."""
    when_imported("accelerate.accelerator", _patch_accelerator)
    when_imported("accelerate.checkpointing", _patch_checkpointing)
    when_imported("accelerate.state", _patch_state)
    when_imported("accelerate.utils.modeling", _patch_modeling)


def _patch_state(state: ModuleType) -> None:
    partial_state = state.PartialState
    before = partial_state.default_device.fget

    def default_device(self: Any) -> torch.device:
        """The device tpu when there is one and nothing that Accelerate knows; see Accelerate for the rest."""
        device = before(self)
        if device.type == "cpu" and torch.tpu.is_available():
            return torch.device("tpu")
        return device

    partial_state.default_device = property(default_device)


def _patch_accelerator(module: ModuleType) -> None:
    accelerator = module.Accelerator
    before = accelerator.__init__

    @functools.wraps(before)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            before(self, *args, **kwargs)
            return
        except ValueError as error:
            # The list of devices that may is a local name in there.
            if "fp16 mixed precision requires a device" not in str(error) or self.device.type != "tpu":
                raise
        module.AcceleratorState._reset_state()
        given = inspect.signature(before).bind(self, *args, **kwargs).arguments
        given.pop("self")
        before(self, **{**given, "mixed_precision": "no"})
        self.state._mixed_precision = "fp16"
        self.native_amp = True
        scaler = self.scaler_handler.to_kwargs() if self.scaler_handler is not None else {}
        self.scaler = torch.amp.GradScaler("tpu", **scaler)

    accelerator.__init__ = init


def _patch_checkpointing(checkpointing: ModuleType) -> None:
    for name, ours in (("save_accelerator_state", random_state.save), ("load_accelerator_state", random_state.load)):
        setattr(checkpointing, name, _followed_by(getattr(checkpointing, name), ours))


def _followed_by(before: Callable[..., Any], ours: Callable[[str, int], None]) -> Callable[..., Any]:
    # Saving and loading begin with the same six arguments.
    @functools.wraps(before)
    def both(
        folder: str,
        models: Any,
        optimizers: Any,
        schedulers: Any,
        dataloaders: Any,
        process_index: int,
        *rest: Any,
        **kwargs: Any,
    ) -> Any:
        result = before(folder, models, optimizers, schedulers, dataloaders, process_index, *rest, **kwargs)
        ours(folder, process_index)
        return result

    return both


def _patch_modeling(modeling: ModuleType) -> None:
    before = modeling.get_max_memory

    def get_max_memory(max_memory: dict[int | str, int | str] | None = None) -> dict[int | str, int]:
        """Free bytes by device; tpu devices by their numbers."""
        if max_memory is not None:
            return _given(max_memory)
        found = before(None)
        if any(isinstance(key, int) for key in found) or not torch.tpu.is_available():
            return found
        free = {index: torch.tpu.mem_get_info(index)[0] for index in range(torch.tpu.device_count())}
        return {**free, **found}

    def _given(max_memory: dict[int | str, int | str]) -> dict[int | str, int]:
        # Accelerate warns of each number that is no CUDA device, so those are kept from it.
        count = torch.tpu.device_count() if torch.tpu.is_available() else 0
        ours = {key: value for key, value in max_memory.items() if isinstance(key, int) and 0 <= key < count}
        size = modeling.convert_file_size_to_int
        mine = {key: size(value) if isinstance(value, str) else value for key, value in sorted(ours.items())}
        return {**mine, **before({key: value for key, value in max_memory.items() if key not in ours})}

    modeling.get_max_memory = get_max_memory
