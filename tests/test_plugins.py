"""Finding a plugin, and the sentence for each way in which that goes wrong. Each case is a process of its own."""

from __future__ import annotations

import ctypes.util
import importlib.util
import os
import subprocess
from pathlib import Path

import pytest
from conftest import Child
from torch_pjrt import plugins

CPU_PLUGINS = plugins.installed("cpu")
USE = "import torch; t = torch.arange(6.0, device='tpu').reshape(2, 3); print((t @ t.T).sum().item())"
WHY = "import torch; print(torch.tpu.is_available(), torch.tpu.device_count()); torch.ones(2, device='tpu')"


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("plugin", CPU_PLUGINS, ids=lambda plugin: plugin.package)
def test_each_cpu_plugin_computes(plugin: plugins.Plugin, child: Child) -> None:
    done = child(USE, TORCH_PJRT_PLUGIN=plugin.path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "83.0"


def test_the_three_cpu_packages_are_found() -> None:
    assert [plugin.package for plugin in CPU_PLUGINS] == [
        "lammps-jax-pjrt-cpu",
        "fastatomstruct-xla-cpu",
        "xla-cpu-pjrt",
    ]


def test_newest_xla_comes_first() -> None:
    versions = [plugins.probe(plugin.path, client=False).api_version for plugin in CPU_PLUGINS]
    assert all(versions) and versions == sorted(versions, reverse=True)


def test_cpu_by_name(child: Child) -> None:
    done = child(USE, TORCH_PJRT_PLUGIN="cpu")
    assert done.stdout.strip() == "83.0", done.stderr


def test_cpu_is_chosen_where_there_is_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_PJRT_PLUGIN", raising=False)
    monkeypatch.setattr(plugins, "tpu_hardware", lambda: "")
    monkeypatch.setattr(plugins, "cuda_hardware", lambda: "")
    assert plugins.choose() == CPU_PLUGINS[0]


def test_a_tpu_comes_before_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_PJRT_PLUGIN", raising=False)
    monkeypatch.setattr(plugins, "tpu_hardware", lambda: "PCI 0000:00:05.0")
    assert plugins.choose().kind == "tpu"


def test_a_gpu_without_its_plugin_leaves_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_PJRT_PLUGIN", raising=False)
    monkeypatch.setattr(plugins, "tpu_hardware", lambda: "")
    monkeypatch.setattr(plugins, "cuda_hardware", lambda: "/dev/nvidia0")
    monkeypatch.setattr(plugins, "_PACKAGES", [package for package in plugins._PACKAGES if package.kind != "cuda"])
    assert plugins.choose().kind == "cpu"


def test_no_plugin_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_PJRT_PLUGIN", raising=False)
    monkeypatch.setattr(plugins, "_PACKAGES", ())
    with pytest.raises(RuntimeError, match="no PJRT plugin is installed: pip install xla-cpu-pjrt"):
        plugins.choose()


@pytest.mark.skipif(bool(plugins.tpu_hardware()), reason="this machine has a TPU")
@pytest.mark.skipif(importlib.util.find_spec("libtpu") is None, reason="libtpu is not installed")
def test_libtpu_without_a_tpu_is_one_sentence(child: Child) -> None:
    done = child(WHY, seconds=60, TORCH_PJRT_PLUGIN="tpu")
    assert done.returncode == 1 and done.stdout.strip() == "False 0"
    assert last_line(done).startswith("RuntimeError: TORCH_PJRT_PLUGIN=tpu: there is no TPU in this machine")


def test_a_wrong_path(child: Child, tmp_path: Path) -> None:
    done = child(WHY, TORCH_PJRT_PLUGIN=str(tmp_path / "plugin.so"))
    assert done.stdout.strip() == "False 0"
    assert last_line(done) == f"RuntimeError: TORCH_PJRT_PLUGIN={tmp_path / 'plugin.so'}: there is no such file"


def test_a_folder(child: Child, tmp_path: Path) -> None:
    assert "this is not a file" in last_line(child(WHY, TORCH_PJRT_PLUGIN=str(tmp_path)))


def test_a_wrong_name(child: Child) -> None:
    assert "expected cpu, tpu, cuda or the path" in last_line(child(WHY, TORCH_PJRT_PLUGIN="gpu"))


def test_a_file_that_is_no_library(child: Child, tmp_path: Path) -> None:
    (tmp_path / "plugin.so").write_text("text")
    assert "is not a library that can be loaded" in last_line(child(WHY, TORCH_PJRT_PLUGIN=str(tmp_path / "plugin.so")))


def test_a_library_without_getpjrtapi(child: Child) -> None:
    library = next(path for path in Path("/lib").rglob(ctypes.util.find_library("m") or "libm.so.6"))
    assert "it has no GetPjrtApi" in last_line(child(WHY, TORCH_PJRT_PLUGIN=str(library)))


OLD_API = r"""
#include <stddef.h>
static struct { size_t size; void* extensions; size_t version_size; void* e; int major, minor; void* calls[140]; } api;
void* GetPjrtApi(void) {
  api.size = sizeof(api);
  api.version_size = 24;
  api.minor = 12;
  return &api;
}
"""


def test_a_too_old_api(child: Child, tmp_path: Path) -> None:
    source, library = tmp_path / "old.c", tmp_path / "old.so"
    source.write_text(OLD_API)
    subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-o", library, source], check=True)
    line = last_line(child(WHY, TORCH_PJRT_PLUGIN=str(library)))
    assert "is too old: it has PJRT API 0.12" in line


def test_a_failed_start_is_not_tried_again(child: Child) -> None:
    code = """
import torch
from torch_pjrt import plugins
calls = []
plugins.choose = lambda: calls.append(1) or (_ for _ in ()).throw(RuntimeError("no"))
assert not torch.tpu.is_available() and not torch.tpu.is_available()
print(len(calls), torch.tpu.why_unavailable())
"""
    assert child(code).stdout.strip() == "1 no"


def test_a_plugin_that_crashes_only_crashes_the_probe(tmp_path: Path) -> None:
    source, library = tmp_path / "crash.c", tmp_path / "crash.so"
    source.write_text("#include <stdlib.h>\nvoid* GetPjrtApi(void) { abort(); }\n")
    subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-o", library, source], check=True)
    assert plugins.probe(str(library), client=True).error == "ended the process (signal 6)"


def test_a_plugin_that_hangs_is_given_up(tmp_path: Path) -> None:
    source, library = tmp_path / "hang.c", tmp_path / "hang.so"
    source.write_text("#include <unistd.h>\nvoid* GetPjrtApi(void) { for (;;) sleep(1); }\n")
    subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-o", library, source], check=True)
    assert plugins.probe(str(library), client=True, seconds=2).error == "gave no answer within 2 seconds"


def test_a_probe_makes_a_client() -> None:
    probe = plugins.probe(CPU_PLUGINS[-1].path, client=True)
    assert (probe.platform, probe.error) == ("cpu", "") and probe.devices >= 1


def test_installing_the_default_plugin_brings_no_jax() -> None:
    import importlib.metadata

    assert not importlib.metadata.requires("xla-cpu-pjrt")
