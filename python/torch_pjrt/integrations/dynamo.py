"""torch.compile without a backend: graphs on tpu go to ours, others to inductor as before. Written for torch 2.13."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch

from torch_pjrt.integrations.hooks import when_imported


def install() -> None:
    """Waits for the two modules of dynamo, which take a second to import."""
    when_imported("torch._dynamo.backends.registry", _set_default_backend)
    when_imported("torch._dynamo.device_interface", _register_interface)


def _set_default_backend(registry: ModuleType) -> None:
    # Only in the place of torch's own choice; the user's stays.
    if registry.get_default_backend() == "inductor":
        registry.set_default_backend(by_device)


def by_device(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    mode: str | None = None,
    options: dict[str, Any] | None = None,
) -> Callable[..., Any]:
    """The default backend: "tpu" for a graph that has a tensor on tpu, else "inductor"."""
    from torch_pjrt import compile

    if compile.touches_tpu(gm, example_inputs):
        # The options are inductor's.
        return compile.tpu_backend(gm, example_inputs, mode=mode)
    return torch._TorchCompileInductorWrapper(mode, options, None)(gm, example_inputs)


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
