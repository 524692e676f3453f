"""Serves torch_xla's names to programs that import them, when the real torch_xla is not installed.

Transformers, Accelerate, Diffusers and PEFT take other paths when they see torch_xla, and those need the real one. So
`importlib.util.find_spec("torch_xla")` finds nothing, imports by these libraries fail as if nothing were there, there
is no distribution of that name, and USE_TORCH_XLA=0 is set where the user has not set it.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FrameType, ModuleType

from torch_pjrt.integrations.hooks import when_imported

_FOLDER = Path(__file__).with_name("xla")
_FILES = {
    "torch_xla": "__init__.py",
    "torch_xla.amp": "amp.py",
    "torch_xla.core": "core/__init__.py",
    "torch_xla.core.xla_model": "core/xla_model.py",
    "torch_xla.debug": "debug/__init__.py",
    "torch_xla.debug.metrics": "debug/metrics.py",
    "torch_xla.distributed": "distributed/__init__.py",
    "torch_xla.distributed.parallel_loader": "distributed/parallel_loader.py",
    "torch_xla.distributed.xla_multiprocessing": "distributed/xla_multiprocessing.py",
    "torch_xla.runtime": "runtime.py",
}
_NOT_FOR = {"accelerate", "diffusers", "peft", "transformers", "trl"}


class _Finder:
    """Comes last on sys.meta_path, so a real torch_xla wins."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        file = _FILES.get(name)
        if file is None or not _asked_by_a_program(sys._getframe(1)):
            return None
        folders = [str((_FOLDER / file).parent)] if file.endswith("__init__.py") else None
        return importlib.util.spec_from_file_location(name, _FOLDER / file, submodule_search_locations=folders)


def _asked_by_a_program(frame: FrameType | None) -> bool:
    """True for an import statement or import_module outside the libraries above; False for importlib.util.find_spec."""
    importing = False
    while frame is not None:
        where = frame.f_globals.get("__name__", "")
        if where == "importlib._bootstrap":
            importing |= frame.f_code.co_name == "_find_and_load"
        elif where.split(".")[0] != "importlib":
            return importing and where.split(".")[0] not in _NOT_FOR
        frame = frame.f_back
    return importing


def serve() -> None:
    """Puts the finder in place, unless torch_xla is installed."""
    if "torch_xla" in sys.modules or importlib.util.find_spec("torch_xla") is not None:
        return
    os.environ.setdefault("USE_TORCH_XLA", "0")
    if os.environ["USE_TORCH_XLA"] == "0":
        # Transformers reads the variable at its import, which may have been before ours.
        when_imported("transformers.utils.import_utils", _switch_transformers_off)
    # PEFT asks find_spec at its first use, perhaps after the program's own import of torch_xla.
    when_imported("peft.import_utils", _switch_peft_off)
    sys.meta_path.append(_Finder)  # type: ignore[arg-type]


def _switch_transformers_off(module: ModuleType) -> None:
    # Written for transformers 5.24.
    module.USE_TORCH_XLA = "0"  # type: ignore[attr-defined]
    cached = getattr(module.is_torch_xla_available, "cache_clear", None)
    if cached is not None:
        cached()


def _switch_peft_off(module: ModuleType) -> None:
    # Written for peft 0.21.
    def is_torch_tpu_available(check_device: bool = True) -> bool:
        """False: tensors of torch_xla cannot occur."""
        return False

    module.is_torch_tpu_available = is_torch_tpu_available  # type: ignore[attr-defined]
