"""`torch-pjrt doctor`: versions, plugins, devices, memory, cache folder, environment variables, and what is wrong."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

import torch_pjrt
from torch_pjrt import bridge, plugins
from torch_pjrt.text import format_bytes

_LIBRARIES = (
    "torch",
    "numpy",
    "transformers",
    "accelerate",
    "diffusers",
    "peft",
    "safetensors",
    "torch_tpu",
    "torch_xla",
)


@dataclass(frozen=True)
class Problem:
    what: str
    hint: str
    broken: bool  # False: all works, but something could be better


def run(as_json: bool = False) -> int:
    """Prints the report; 1 when something is broken."""
    report = examine()
    print(json.dumps(report, indent=2) if as_json else _as_text(report))
    return 1 if any(problem["broken"] for problem in report["problems"]) else 0


def run_selftest(path: Path) -> int:
    """Prints the report and an outcome for each check, and writes both to `path`; 1 when something is broken."""
    from torch_pjrt import selftest

    facts = examine()
    print(_as_text(facts))
    if any(problem["broken"] for problem in facts["problems"]):
        print("no selftest before that is mended")
        return 1
    print("selftest")
    try:
        path.open("a").close()
    except OSError as error:
        print(f"  the report cannot be written: {error}")
        return 1
    return 1 if selftest.report(path, facts) else 0


def examine() -> dict[str, Any]:
    """The report as plain data."""
    problems: list[Problem] = []
    report = {
        "versions": _versions(),
        "plugins": _plugins(problems),
        "devices": _devices(problems),
        "cache": _cache(problems),
        "environment": _environment(problems),
    }
    return {**report, "problems": [asdict(problem) for problem in problems]}


def _versions() -> dict[str, str]:
    versions = {
        "torch-pjrt": torch_pjrt.__version__,
        "python": platform.python_version(),
        "system": platform.platform(),
    }
    for name in _LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    versions["bridges for torch"] = ", ".join(bridge.built_for()) or "none"
    return versions


def _plugins(problems: list[Problem]) -> dict[str, Any]:
    chosen, why_not = None, ""
    try:
        chosen = plugins.choose()
    except RuntimeError as error:
        why_not = str(error)
        problems.append(Problem(why_not, "unset TORCH_PJRT_PLUGIN, or install the plugin that it names", broken=True))
    found = plugins.installed()
    if chosen is not None and chosen not in found:
        found.append(chosen)
    rows = []
    for plugin in found:
        probe = plugins.probe(plugin.path, client=False, seconds=30)
        version = ".".join(map(str, probe.api_version)) if probe.api_version else ""
        rows.append({**asdict(plugin), "chosen": plugin == chosen, "pjrt_api": version, "error": probe.error})
        if probe.error and plugin == chosen:
            hint = f"pip install --force-reinstall {plugin.package}" if plugin.package else "choose another path"
            problems.append(Problem(f"plugin {plugin.path} {probe.error}", hint, broken=True))
    hardware = {"tpu": plugins.tpu_hardware(), "gpu": plugins.cuda_hardware()}
    if hardware["tpu"] and not plugins.installed("tpu"):
        problems.append(Problem("a TPU is here, but not libtpu", "pip install libtpu", broken=False))
    return {"found": rows, "hardware": hardware}


def _devices(problems: list[Problem]) -> list[dict[str, Any]]:
    if torch_pjrt.load_error is not None:
        hint = "pip install a torch that fits, or build torch-pjrt with this one"
        problems.append(Problem(torch_pjrt.load_error, hint, broken=True))
        return []
    if not torch.tpu.is_available():
        why = torch.tpu.why_unavailable() or "the plugin shows no devices"
        if all(problem.what != why for problem in problems):
            problems.append(Problem(f"no device: {why}", "see the plugins above", broken=True))
        return []
    devices = []
    for index in range(torch.tpu.device_count()):
        info = asdict(torch.tpu.get_device_properties(index))
        devices.append({"device": f"tpu:{index}", **info, "free_memory": torch.tpu.mem_get_info(index)[0]})
    _compute(problems)
    return devices


def _compute(problems: list[Problem]) -> None:
    try:
        answer = (torch.arange(4.0, device="tpu") @ torch.ones(4, device="tpu")).item()
    except RuntimeError as error:
        problems.append(Problem(f"a small product fails: {str(error).splitlines()[0]}", "report it", broken=True))
        return
    if answer != 6:
        problems.append(Problem(f"a small product gives {answer} instead of 6", "report it", broken=True))


def _cache(problems: list[Problem]) -> dict[str, Any]:
    folder = _cache_folder()
    if folder is None:
        problems.append(Problem("the disk cache is off", "unset TORCH_PJRT_CACHE_DIR", broken=False))
        return {"folder": "", "writable": False, "entries": 0, "bytes": 0}
    files = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    # The folder is made at the first write, so the nearest one that exists decides.
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    writable = existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
    if not writable:
        hint = f"chmod u+rwx {existing}, or set TORCH_PJRT_CACHE_DIR to another folder"
        problems.append(Problem(f"the cache folder {folder} cannot be written", hint, broken=True))
    sizes = [path.stat().st_size for path in files]
    return {"folder": str(folder), "writable": writable, "entries": len(files), "bytes": sum(sizes)}


def _cache_folder() -> Path | None:
    if torch_pjrt.load_error is not None:
        return Path(os.environ.get("TORCH_PJRT_CACHE_DIR") or Path.home() / ".cache" / "torch-pjrt")
    folder = torch_pjrt._C.cache_dir()  # type: ignore[attr-defined]
    return Path(folder) if folder else None


def _environment(problems: list[Problem]) -> list[dict[str, str]]:
    if torch_pjrt.load_error is not None:
        return []
    rows = [
        {"name": name, "value": value, "meaning": meaning}
        for name, meaning, value in torch_pjrt._C.env_table()  # type: ignore[attr-defined]
    ]
    known = {row["name"] for row in rows}
    for name in sorted(os.environ):
        if name.startswith("TORCH_PJRT_") and name not in known:
            problems.append(Problem(f"{name} is set, but no such variable exists", f"unset {name}", broken=False))
    return rows


def _as_text(report: dict[str, Any]) -> str:
    lines = ["versions"]
    lines += [f"  {name:<19}{version}" for name, version in report["versions"].items()]
    lines.append("plugins")
    for plugin in report["plugins"]["found"]:
        mark = "*" if plugin["chosen"] else " "
        api = plugin["error"] or f"PJRT API {plugin['pjrt_api']}"
        lines.append(f"{mark} {plugin['kind']:<6}{plugin['package'] or 'by path':<25}{api:<16}{plugin['path']}")
    for kind, where in report["plugins"]["hardware"].items():
        lines.append(f"  {kind} hardware: {where or 'none seen'}")
    lines.append("devices")
    for device in report["devices"]:
        memory = f"{format_bytes(device['free_memory'])} of {format_bytes(device['total_memory'])} free"
        lines.append(f"  {device['device']:<6}{device['name']} ({device['platform']}), {memory}")
        # The CPU's version text is "cpu".
        if device["platform_version"] not in ("", device["platform"]):
            lines.append(f"        {device['platform_version'].splitlines()[0]}")
    cache = report["cache"]
    lines.append("cache")
    state = "writable" if cache["writable"] else "not writable"
    lines.append(f"  {cache['folder'] or 'off'}: {state}, {cache['entries']} files, {format_bytes(cache['bytes'])}")
    lines.append("environment variables")
    lines += [f"  {row['name']:<27}{row['value'] or '-':<12}{row['meaning']}" for row in report["environment"]]
    lines.append("problems")
    for problem in report["problems"]:
        lines.append(f"  {'BROKEN' if problem['broken'] else 'note'}: {problem['what']}")
        lines.append(f"    hint: {problem['hint']}")
    if not report["problems"]:
        lines.append("  none")
    return "\n".join(lines)
