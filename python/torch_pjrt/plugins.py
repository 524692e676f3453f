"""Which PJRT plugin this process uses.

TORCH_PJRT_PLUGIN names one ("cpu", "tpu", "cuda") or is a path. Else: TPU when the hardware and libtpu are here, else
CUDA when a GPU and a jax-cuda plugin are here, else CPU. Of several packages for one kind the one with the newest XLA
is taken: the order of _PACKAGES. Looking loads no library and imports no package.
"""

from __future__ import annotations

import glob
import importlib.util
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Plugin:
    kind: str  # "cpu", "tpu", "cuda", or "other" for a path that says nothing
    path: str
    package: str  # the distribution to install or upgrade; "" for a path that the user gave


@dataclass(frozen=True)
class _Package:
    kind: str
    distribution: str
    module: str
    library: str


# Newest XLA first within a kind.
_PACKAGES = (
    _Package("tpu", "libtpu", "libtpu", "libtpu.so"),
    _Package("cuda", "jax-cuda13-pjrt", "jax_plugins.xla_cuda13", "xla_cuda_plugin.so"),
    _Package("cuda", "jax-cuda12-pjrt", "jax_plugins.xla_cuda12", "xla_cuda_plugin.so"),
    _Package("cpu", "lammps-jax-pjrt-cpu", "lammps_jax_pjrt_cpu", "pjrt_c_api_cpu_plugin.so"),
    _Package("cpu", "fastatomstruct-xla-cpu", "fastatomstruct_xla_cpu", "libpjrt_cpu.so"),
    _Package("cpu", "xla-cpu-pjrt", "xla_plugins.xla_cpu_pjrt", "xla_cpu_pjrt.so"),
)
_INSTALL = {"cpu": "pip install xla-cpu-pjrt", "tpu": "pip install libtpu", "cuda": "pip install jax-cuda13-pjrt"}

# libtpu waits long for a TPU that is busy or half there.
PROBE_SECONDS = 120.0


def installed(kind: str | None = None) -> list[Plugin]:
    """The plugin packages that are installed, preferred ones first."""
    found = []
    for package in _PACKAGES:
        if kind in (None, package.kind):
            path = _library_of(package)
            if path is not None:
                found.append(Plugin(package.kind, path, package.distribution))
    return found


def _library_of(package: _Package) -> str | None:
    try:
        spec = importlib.util.find_spec(package.module)
    except (ImportError, ValueError):
        return None
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for folder in folders:
        path = os.path.join(folder, package.library)
        if os.path.isfile(path):
            return path
    return None


def choose() -> Plugin:
    """The plugin to use. RuntimeError says in one sentence what is wrong with the wish or what is missing."""
    wish = os.environ.get("TORCH_PJRT_PLUGIN", "").strip()
    if not wish:
        return _choose_automatically()
    if wish in _INSTALL:
        return _choose_kind(wish)
    return _choose_path(wish)


def _choose_automatically() -> Plugin:
    for kind, hardware in (("tpu", tpu_hardware()), ("cuda", cuda_hardware())):
        if hardware:
            found = installed(kind)
            if found:
                return found[0]
            # Whoever pays for a TPU wants to know that it idles; GPUs are often there for other uses.
            if kind == "tpu":
                print(f"torch-pjrt: a TPU is here ({hardware}) but not libtpu: {_INSTALL[kind]}", file=sys.stderr)
    found = installed("cpu")
    if not found:
        raise RuntimeError(f"no PJRT plugin is installed: {_INSTALL['cpu']}")
    return found[0]


def _choose_kind(kind: str) -> Plugin:
    found = installed(kind)
    if not found:
        raise RuntimeError(f"TORCH_PJRT_PLUGIN={kind}: no such plugin is installed: {_INSTALL[kind]}")
    plugin = found[0]
    _require_hardware(plugin)
    return plugin


def _choose_path(wish: str) -> Plugin:
    if os.sep not in wish and not wish.endswith(".so"):
        raise RuntimeError(f"TORCH_PJRT_PLUGIN={wish}: expected cpu, tpu, cuda or the path of a plugin's library")
    path = os.path.abspath(os.path.expanduser(wish))
    if not os.path.exists(path):
        raise RuntimeError(f"TORCH_PJRT_PLUGIN={wish}: there is no such file")
    if not os.path.isfile(path):
        raise RuntimeError(f"TORCH_PJRT_PLUGIN={wish}: this is not a file")
    plugin = Plugin(_kind_of(path), path, "")
    _require_hardware(plugin)
    return plugin


def _kind_of(path: str) -> str:
    name = os.path.basename(path)
    by_library = {package.library: package.kind for package in _PACKAGES}
    return by_library.get(name, "tpu" if "tpu" in name else "cuda" if "cuda" in name else "other")


def _require_hardware(plugin: Plugin) -> None:
    # Without a TPU libtpu asks a metadata server for minutes or ends the process.
    if plugin.kind == "tpu" and not tpu_hardware():
        raise RuntimeError(
            f"TORCH_PJRT_PLUGIN={os.environ['TORCH_PJRT_PLUGIN']}: there is no TPU in this machine "
            "(neither a Google TPU on the PCI bus nor /dev/accel0)"
        )


# --- hardware

_GOOGLE = "0x1ae0"
# v2 and v3, v4, v5p, v5e, v6e, 7x. Google's network card and disk are on the same bus under other numbers.
_TPU_DEVICES = {"0x0027", "0x005e", "0x0062", "0x0063", "0x006f", "0x0076"}


def tpu_hardware() -> str:
    """Where a TPU was seen, or "". Reads files only."""
    for folder in sorted(glob.glob("/sys/bus/pci/devices/*")):
        vendor, device = _read(folder, "vendor"), _read(folder, "device")
        if vendor == _GOOGLE and (device in _TPU_DEVICES or _driver(folder) == "vfio-pci"):
            return f"PCI {os.path.basename(folder)}"
    # /dev/accel/accel0 is the kernel's name for other vendors' accelerators.
    nodes = [path for path in sorted(glob.glob("/dev/accel*")) if re.fullmatch(r"/dev/accel\d+", path)]
    return nodes[0] if nodes else ""


def cuda_hardware() -> str:
    """Where an Nvidia GPU was seen, or "". Reads files only."""
    nodes = [path for path in sorted(glob.glob("/dev/nvidia*")) if re.fullmatch(r"/dev/nvidia\d+", path)]
    return nodes[0] if nodes else ""


def _read(folder: str, name: str) -> str:
    try:
        return Path(folder, name).read_text().strip()
    except OSError:
        return ""


def _driver(folder: str) -> str:
    try:
        return os.path.basename(os.readlink(os.path.join(folder, "driver")))
    except OSError:
        return ""


# --- trying a plugin in a child process


@dataclass(frozen=True)
class Probe:
    """What a child process found out about a plugin."""

    api_version: tuple[int, int] | None = None
    platform: str = ""
    devices: int = 0
    error: str = ""


def probe(path: str, client: bool, seconds: float = PROBE_SECONDS) -> Probe:
    """Loads a plugin, and makes a client when asked, in a child process: a crash or a hang there stays there."""
    command = [sys.executable, "-I", str(Path(__file__).with_name("probe.py")), path, "client" if client else "load"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return Probe(error=f"gave no answer within {seconds:.0f} seconds")
    answer = done.stdout.rpartition("\n{")
    try:
        facts = json.loads("{" + answer[2])
    except ValueError:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"code {done.returncode}"
        return Probe(error=f"ended the process ({how})" + (f": {said[-1].strip()}" if said else ""))
    version = facts.get("api_version")
    return Probe(
        api_version=tuple(version) if version else None,
        platform=facts.get("platform", ""),
        devices=facts.get("devices", 0),
        error=facts.get("error", ""),
    )


def check_client(plugin: Plugin) -> None:
    """RuntimeError when a TPU or GPU plugin cannot make its client: tried in a child process first, since there it
    may crash or hang. CPU plugins do neither."""
    if plugin.kind not in ("tpu", "cuda"):
        return
    result = probe(plugin.path, client=True)
    if result.error:
        raise RuntimeError(f"plugin {plugin.path} {result.error}")
