"""torch.compile without a backend, or with inductor's: graphs on tpu go to ours, others to inductor as before. So what
libraries ask for by name, as TrainingArguments(torch_compile=True) does, works too. Written for torch 2.13."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch

from torch_pjrt.integrations.hooks import when_imported


def install() -> None:
    """Inductor's entry is changed now; dynamo takes a second to import, so its module is waited for."""
    inductor = torch._TorchCompileInductorWrapper
    inductor.__call__ = _by_device(inductor.__call__)  # type: ignore[method-assign]
    when_imported("torch._dynamo.device_interface", _register_interface)


def _by_device(inductor: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(inductor)
    def compile_graph(self: Any, gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Any:
        from torch_pjrt import compile

        if compile.touches_tpu(gm, example_inputs):
            # Modes and options were inductor's, which has checked them.
            return compile.tpu_backend(gm, example_inputs)
        return inductor(self, gm, example_inputs)

    return compile_graph


def _register_interface(module: ModuleType) -> None:
    # Torch's own entry for "tpu" is put in with the first question and would replace ours.
    module.init_device_reg()

    class TpuInterface(module.DeviceInterface):
        device = torch.tpu.device
        Event = torch.Event
        Stream = torch.Stream
        current_device = staticmethod(torch.tpu.current_device)
        set_device = staticmethod(torch.tpu.set_device)
        device_count = staticmethod(torch.tpu.device_count)
        exchange_device = staticmethod(torch.tpu._exchange_device)
        maybe_exchange_device = staticmethod(torch.tpu._maybe_exchange_device)
        stream = staticmethod(torch.tpu.stream)
        current_stream = staticmethod(torch.tpu.current_stream)
        set_stream = staticmethod(torch.tpu.set_stream)
        synchronize = staticmethod(torch.tpu.synchronize)
        get_device_properties = staticmethod(torch.tpu.get_device_properties)
        is_available = staticmethod(torch.tpu.is_available)
        is_bf16_supported = staticmethod(torch.tpu.is_bf16_supported)
        memory_allocated = staticmethod(torch.tpu.memory_allocated)

        class Worker:
            current_device = staticmethod(torch.tpu.current_device)
            set_device = staticmethod(torch.tpu.set_device)
            get_device_properties = staticmethod(torch.tpu.get_device_properties)

        @staticmethod
        def get_compute_capability(device: torch.types.Device = None) -> str:
            """Empty: there are no versions of the instruction set to choose between."""
            return ""

        @staticmethod
        def raise_if_triton_unavailable(device: torch.types.Device = None) -> None:
            """Inductor asks before it would generate code."""
            raise RuntimeError('the device tpu has no inductor backend: use torch.compile(backend="tpu")')

    module.register_interface_for_device("tpu", TpuInterface)
