"""PyTorch's `tpu` device on any PJRT plugin.

`import torch` loads this package through the entry point `torch.backends`; afterwards `torch.device("tpu")` works and
`torch.tpu` is the module `torch_pjrt.device`. Nothing of torch is imported before `_autoload` is defined, since
`import torch_pjrt` may come first and torch then calls `_autoload` while this file is still running.
"""

from __future__ import annotations

import importlib
import sys

__version__ = "0.1.0"
__all__ = ["__version__", "load_error"]

# Why the device is not there, in one sentence; None when it is.
load_error: str | None = None
_loaded = False


def _autoload() -> None:
    """Makes the device known to torch, once. What is wrong is said in one line; `import torch` then goes on without."""
    global _loaded, load_error
    if _loaded:
        return
    # Calls this function when torch was not imported before.
    importlib.import_module("torch")
    if _loaded:
        return
    _loaded = True
    from torch_pjrt import registration

    try:
        registration.register()
    except registration.Unavailable as error:
        load_error = str(error)
        print(f"torch-pjrt: {error}", file=sys.stderr)


_autoload()
