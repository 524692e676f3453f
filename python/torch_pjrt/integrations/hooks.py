"""Runs a function right after a module was imported, or now when it was imported already."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Hook = Callable[[ModuleType], None]

_waiting: dict[str, list[Hook]] = {}


def when_imported(name: str, hook: Hook) -> None:
    """Calls `hook(module)` when the module `name` is imported. A hook that raises breaks that import, so it must not
    take attributes for granted that only some versions of the library have."""
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        hook(module)
        return
    _waiting.setdefault(name, []).append(hook)
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)  # type: ignore[arg-type]


class _Finder:
    """Lets the other finders find the module and wraps its loader."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in _waiting:
            return None
        for finder in sys.meta_path:
            if finder is _Finder or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader)  # type: ignore[assignment]
                return spec
        return None


class _Loader:
    """The module's own loader, then the hooks."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # The module must not keep this loader: inspect and pickle look at it.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        for hook in _waiting.pop(module.__name__, ()):
            hook(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
