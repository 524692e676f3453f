"""The state of tpu's generators in a checkpoint folder, beside the file that a library writes for other devices."""

from __future__ import annotations

from pathlib import Path

import torch


def _file(folder: str | Path, process_index: int) -> Path:
    return Path(folder) / f"tpu_rng_state_{process_index}.pth"


def save(folder: str | Path, process_index: int) -> None:
    """Writes the state of all tpu devices; nothing in a process that has not used one."""
    if torch.tpu.is_initialized():
        torch.save(torch.tpu.get_rng_state_all(), _file(folder, process_index))


def load(folder: str | Path, process_index: int) -> None:
    """Takes back what save() wrote, for the devices that are here. A folder without it changes nothing."""
    file = _file(folder, process_index)
    if file.exists() and torch.tpu.is_available():
        for index, state in zip(range(torch.tpu.device_count()), torch.load(file, weights_only=True), strict=False):
            torch.tpu.set_rng_state(state, index)
