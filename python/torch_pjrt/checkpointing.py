"""torch.utils.checkpoint on tpu: a forward and its backward pass are one program, in which the compiler would find that
the recomputed part is computed already, and keep it: more memory, less work, the opposite of what was asked for. So
recomputation starts from inputs that the compiler can't tell from new data, and not before the backward pass is there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import checkpoint

from torch_pjrt import _C


def install() -> None:
    """Wraps both kinds of checkpoint, once."""
    if getattr(checkpoint.detach_variable, "__wrapped__", None) is not None:
        return
    checkpoint.detach_variable = _late_inputs(checkpoint.detach_variable)
    checkpoint._CheckpointFrame.__init__ = _late_recompute(checkpoint._CheckpointFrame.__init__)


class _After(torch.autograd.Function):
    # A result that has no leaf's restrictions, as the argument had none.
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
        return _C.after_all_so_far([tensor])[0]

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient


def _is_ours(value: Any) -> bool:
    return type(value) in (torch.Tensor, torch.nn.Parameter) and value.device.type == "tpu"


def _late_recompute(init: Callable[..., None]) -> Callable[..., None]:
    # use_reentrant=False: the frame holds the function that recomputes.
    @functools.wraps(init)
    def wrapped(self: Any, recompute_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        @functools.wraps(recompute_fn)
        def recompute(*inputs: Any) -> Any:
            return recompute_fn(*(_After.apply(x) if _is_ours(x) else x for x in inputs))

        init(self, recompute, *args, **kwargs)

    return wrapped


def _late_inputs(detach: Callable[..., Any]) -> Callable[..., Any]:
    # use_reentrant=True: the inputs are detached, then the function runs again.
    @functools.wraps(detach)
    def wrapped(inputs: Sequence[Any]) -> Any:
        late = list(inputs)
        for i, x in enumerate(late):
            if _is_ours(x):
                late[i] = _C.after_all_so_far([x.detach()])[0].requires_grad_(x.requires_grad)
        return detach(tuple(late))

    return wrapped
