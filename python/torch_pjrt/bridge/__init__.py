"""The C++ module `_C`, one build for each minor version of torch: `bridge/torch_2_13/_C*.so`."""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType


class BridgeError(ImportError):
    """No `_C` fits this torch; the text is one sentence."""


def built_for() -> list[str]:
    """The torch versions that this installation has a bridge for, such as ["2.13"]."""
    names = [name for folder in __path__ if os.path.isdir(folder) for name in os.listdir(folder)]
    # An editable installation keeps _C elsewhere; its import hook knows the names.
    for finder in sys.meta_path:
        names += [name.split(".")[2] for name in getattr(finder, "known_wheel_files", ()) if name.startswith(__name__)]
    versions = {name.removeprefix("torch_").replace("_", ".") for name in names if name.startswith("torch_")}
    return sorted(versions, key=lambda version: [int(part) for part in version.split(".")])


def load(torch_version: str) -> ModuleType:
    """Imports the `_C` that fits, and serves it as `torch_pjrt._C` too."""
    major, minor = torch_version.split(".")[:2]
    name = f"{__name__}.torch_{major}_{minor}._C"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith(__name__):
            raise BridgeError(f"the bridge to torch {major}.{minor} cannot be loaded: {error}") from error
        have = ", ".join(built_for()) or "none"
        raise BridgeError(
            f"there is no bridge to torch {torch_version} in this installation (there is: {have}); "
            "install a torch that fits, or build torch-pjrt with this one"
        ) from None
    except ImportError as error:
        raise BridgeError(f"the bridge to torch {major}.{minor} cannot be loaded: {error}") from error
    sys.modules["torch_pjrt._C"] = module
    sys.modules["torch_pjrt"]._C = module  # type: ignore[attr-defined]
    return module
