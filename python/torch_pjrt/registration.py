"""Tells torch about the device: its name, its module, its methods, and what C++ needs from Python.

Google's `torch_tpu` is a device called "tpu" as well, and torch has room for one. The rule: when torch_tpu is
installed and loads with `import torch`, it has the name and torch-pjrt stays off. Without autoload
(TORCH_DEVICE_BACKEND_AUTOLOAD=0) the one that is imported first has it.
"""

from __future__ import annotations

import importlib.util
import sys

import torch

from torch_pjrt import bridge


class Unavailable(RuntimeError):
    """Why the device cannot be there, in one sentence."""


def register() -> None:
    """Makes "tpu" known to torch. Creates no client: that waits for the first use."""
    if sys.platform != "linux":
        raise Unavailable(f"only Linux is supported, this is {sys.platform}")
    _check_name_is_free()
    try:
        _C = bridge.load(torch.__version__)
    except bridge.BridgeError as error:
        raise Unavailable(str(error)) from error

    torch.utils.rename_privateuse1_backend("tpu")
    from torch_pjrt import decompositions, device, printing

    torch._register_device_module("tpu", device)
    torch.utils.generate_methods_for_privateuse1_backend(
        for_tensor=True, for_module=True, for_packed_sequence=True, for_storage=True
    )
    _C.set_lazy_init(device._lazy_init)
    _C.set_decomposition(decompositions.find)
    printing.install()

    from torch_pjrt import integrations
    from torch_pjrt.compat import torch_xla

    torch_xla.serve()
    integrations.install()


def _check_name_is_free() -> None:
    taken = torch._C._get_privateuse1_backend_name()
    if taken == "tpu":
        raise Unavailable("another package, probably torch_tpu, has loaded a device called tpu; torch-pjrt stays off")
    if taken != "privateuseone":
        raise Unavailable(f"the backend {taken} has torch's one private device, so there is no room for tpu")
    if torch._is_device_backend_autoload_enabled() and importlib.util.find_spec("torch_tpu"):
        raise Unavailable(
            "torch_tpu is installed and provides the device tpu, so torch-pjrt stays off; "
            "uninstall torch_tpu, or set TORCH_DEVICE_BACKEND_AUTOLOAD=0 and import torch_pjrt, to use this one"
        )
