"""Seeds and states of the random number generators, one a device. Same seed, same numbers, on every plugin.

Seeding makes no client: torch.manual_seed() and the workers of a DataLoader seed every device of the machine.
"""

from __future__ import annotations

import torch

from torch_pjrt import _C


def _generator(device: int | str | torch.device | None) -> torch.Generator:
    from torch_pjrt import device as devices

    return _C.default_generator(devices._index(device))


def _wrap(seed: int) -> int:
    # torch.manual_seed takes negative numbers too.
    return int(seed) & 0xFFFF_FFFF_FFFF_FFFF


def manual_seed(seed: int) -> None:
    """Seeds the current device's generator."""
    _C.default_generator(_C.current_device()).manual_seed(_wrap(seed))


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all devices; torch.manual_seed() calls it."""
    _C.manual_seed_all(_wrap(seed))


def seed() -> int:
    """Seeds the current device's generator with a random number and returns that."""
    return _C.default_generator(_C.current_device()).seed()


def seed_all() -> int:
    """Seeds the generators of all devices with one random number and returns that."""
    value = torch.Generator().seed()
    manual_seed_all(value)
    return value


def initial_seed() -> int:
    """The seed of the current device's generator."""
    return _C.default_generator(_C.current_device()).initial_seed()


def get_rng_state(device: int | str | torch.device | None = "tpu") -> torch.Tensor:
    """The state of a device's generator, a CPU tensor of uint8."""
    return _generator(device).get_state()


def get_rng_state_all() -> list[torch.Tensor]:
    """The states of all devices' generators."""
    from torch_pjrt import device as devices

    return [get_rng_state(index) for index in range(devices.device_count())]


def set_rng_state(new_state: torch.Tensor, device: int | str | torch.device | None = "tpu") -> None:
    """Puts back what get_rng_state() gave. RuntimeError when the tensor is no such state."""
    _generator(device).set_state(new_state.cpu())


def set_rng_state_all(new_states: list[torch.Tensor]) -> None:
    """Puts back what get_rng_state_all() gave."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
