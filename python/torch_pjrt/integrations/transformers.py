"""Transformers 5.24 saves random states in Trainer's checkpoints for the devices that it knows, and pads the batches of
its continuous batching for CUDA only; tpu is none of those."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from torch_pjrt.integrations import random_state
from torch_pjrt.integrations.hooks import when_imported


def install() -> None:
    """Waits for the modules that must be changed."""
    when_imported("transformers.trainer", _patch_trainer)
    when_imported("transformers.generation.continuous_batching.continuous_api", _patch_continuous_batching)


def _patch_continuous_batching(module: ModuleType) -> None:
    # This imports Transformers, so not earlier.
    from torch_pjrt.integrations import continuous_batching

    continuous_batching.patch(module)


def _patch_trainer(module: ModuleType) -> None:
    trainer = module.Trainer
    trainer._save_rng_state = _saving(trainer._save_rng_state)
    trainer._load_rng_state = _loading(trainer._load_rng_state)


def _saving(before: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(before)
    def save(self: Any, output_dir: str) -> None:
        before(self, output_dir)
        random_state.save(output_dir, self.args.process_index)

    return save


def _loading(before: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(before)
    def load(self: Any, checkpoint: str | None) -> None:
        before(self, checkpoint)
        if checkpoint is not None:
            random_state.load(checkpoint, self.args.process_index)

    return load
