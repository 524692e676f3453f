"""Where pending work starts without anyone looking at a value: the ends of an outermost nn.Module call (without
gradients), of a backward pass, and of an optimizer's step. One program is then one forward, one backward or one update.

Installed when the client is made, so a process that uses no tpu pays nothing.
"""

from __future__ import annotations

import functools
import sys
import threading
from typing import Any

import torch
from torch._C import _current_graph_task_id, _get_tracing_state, _len_torch_dispatch_stack, is_grad_enabled
from torch.compiler import is_dynamo_compiling
from torch.nn import Module
from torch.optim.optimizer import register_optimizer_step_post_hook

from torch_pjrt import _C


class _Place(threading.local):
    # Inside an outermost call of this thread.
    inside = False


_place = _Place()
_call_before = Module.__call__
_installed = False


def install() -> None:
    """Wraps torch's entry points, once."""
    global _installed
    if _installed:
        return
    _installed = True
    Module.__call__ = _module_call  # type: ignore[method-assign]
    _teach_dynamo()
    torch.autograd._engine_run_backward = _after_backward(torch.autograd._engine_run_backward)
    register_optimizer_step_post_hook(_after_step)


def _module_call(self: Module, *args: Any, **kwargs: Any) -> Any:
    # Every submodule's call comes by: one cheap check, and no frame more than torch's own call has.
    if _place.inside or is_dynamo_compiling():
        if self._compiled_call_impl is None:
            return self._call_impl(*args, **kwargs)
        return _call_before(self, *args, **kwargs)
    return _outermost_call(self, args, kwargs)


def _outermost_call(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    starts_work = not is_grad_enabled() and _is_boundary(module)
    if starts_work:
        # What was pending before is a program of its own: shapes of masks and ids change more often than the model's.
        _C.run_pending()
    # With gradients too: parts that run without them, such as frozen ones and reentrant checkpoints, start nothing.
    _place.inside = True
    try:
        result = _call_before(module, *args, **kwargs)
    finally:
        _place.inside = False
    if starts_work:
        _C.run_pending()
    return result


def _is_boundary(module: Module) -> bool:
    # While something else traces the call (make_fx, export, fake tensors, TorchScript) nothing may run.
    if _len_torch_dispatch_stack() or _get_tracing_state() is not None:
        return False
    tensor = _first_tensor(module)
    return tensor is not None and tensor.device.type == "tpu"


def _first_tensor(module: Module) -> torch.Tensor | None:
    for tensors in (module._parameters, module._buffers):
        for tensor in tensors.values():
            if tensor is not None:
                return tensor
    for child in module._modules.values():
        if child is not None:
            tensor = _first_tensor(child)
            if tensor is not None:
                return tensor
    return None


def _teach_dynamo() -> None:
    # Dynamo goes straight to forward() when a module's call is the one it knows; it remembers that one at its import.
    for name in ("torch._dynamo.utils", "torch._dynamo.variables.nn_module"):
        module = sys.modules.get(name)
        if module is not None and getattr(module, "unpatched_nn_module_call", None) is _call_before:
            module.unpatched_nn_module_call = _module_call  # type: ignore[attr-defined]


def _after_backward(run: Any) -> Any:
    @functools.wraps(run)
    def run_backward(*args: Any, **kwargs: Any) -> Any:
        # A backward inside a backward (reentrant checkpoints) belongs to the outer one.
        outermost = _current_graph_task_id() == -1
        result = run(*args, **kwargs)
        if outermost and not _len_torch_dispatch_stack():
            _C.run_pending()
        return result

    return run_backward


def _after_step(*_: object) -> None:
    if not is_dynamo_compiling() and not _len_torch_dispatch_stack():
        _C.run_pending()
