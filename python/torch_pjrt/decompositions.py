"""PyTorch's own decompositions, for ops that have no lowering here. C++ asks once an op."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import torch


class _Running(threading.local):
    def __init__(self) -> None:
        self.names: set[str] = set()


# What this thread is decomposing. `var_mean` decomposes to `var`, which may come back as `var_mean`: the second time
# round NotImplemented sends the op on to the CPU. Backward threads decompose at the same time, hence by thread.
_running = _Running()


def find(name: str, overload: str) -> Callable[..., Any] | None:
    """The decomposition of "aten::name" with an overload name ("" for the default one), or None. What it returns
    gives NotImplemented when it was entered again for the same op."""
    op = _overload(name, overload)
    if op is None:
        return None
    function = _table().get(op) or _reference(op)
    return _guarded(str(op), function) if function is not None else None


def _overload(name: str, overload: str) -> torch._ops.OpOverload | None:
    namespace, _, base = name.partition("::")
    packet = getattr(getattr(torch.ops, namespace, None), base, None)
    return getattr(packet, overload or "default", None)


@functools.cache
def _table() -> dict[Any, Callable[..., Any]]:
    # This import takes a while, so it waits for the first op that needs it.
    from torch._decomp import decomposition_table

    return decomposition_table


def _reference(op: torch._ops.OpOverload) -> Callable[..., Any] | None:
    """torch._refs' implementation: second choice, since it follows Python's idea of the op rather than the schema's."""
    from torch import _refs as refs
    from torch._refs import linalg, special
    from torch._refs.nn import functional

    if op.namespace != "aten" or op._overloadname not in ("default", "Tensor", "Scalar"):
        return None
    base = op._schema.name.removeprefix("aten::")
    for place, prefix in ((refs, ""), (special, "special_"), (linalg, "linalg_"), (functional, "")):
        if base.startswith(prefix):
            function = getattr(place, base.removeprefix(prefix), None)
            if base.removeprefix(prefix) in getattr(place, "__all__", ()) and callable(function):
                return function
    return None


def _guarded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def decompose(*args: Any, **kwargs: Any) -> Any:
        if name in _running.names:
            return NotImplemented
        _running.names.add(name)
        try:
            return function(*args, **kwargs)
        finally:
            _running.names.discard(name)

    return decompose
