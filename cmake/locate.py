"""Prints where installed packages lie, as `name=folder` lines, without importing them."""

import importlib.util
import sys


def folder(name: str) -> str:
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return ""
    return spec.submodule_search_locations[0] if spec and spec.submodule_search_locations else ""


for package in sys.argv[1:]:
    print(f"{package}={folder(package)}")
