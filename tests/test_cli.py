"""The command torch-pjrt."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import Child

DOCTOR = "import sys; from torch_pjrt import cli; sys.exit(cli.main(['doctor', *sys.argv[1:]]))"
JSON = DOCTOR.replace("*sys.argv[1:]", "'--json'")


def test_a_healthy_machine(child: Child, tmp_path: Path) -> None:
    done = child(JSON, TORCH_PJRT_PLUGIN="cpu", TORCH_PJRT_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr + done.stdout
    report = json.loads(done.stdout)
    assert report["problems"] == []
    assert {"torch", "torch-pjrt", "python"} <= report["versions"].keys()
    (chosen,) = [plugin for plugin in report["plugins"]["found"] if plugin["chosen"]]
    assert chosen["kind"] == "cpu" and chosen["pjrt_api"].startswith("0.") and not chosen["error"]
    (device,) = report["devices"]
    assert device["device"] == "tpu:0" and 0 < device["free_memory"] <= device["total_memory"]
    assert report["cache"]["folder"] == str(tmp_path) and report["cache"]["writable"]
    (plugin,) = [row for row in report["environment"] if row["name"] == "TORCH_PJRT_PLUGIN"]
    assert plugin["value"] == "cpu" and plugin["meaning"]


def test_text_for_people(child: Child) -> None:
    done = child(DOCTOR, TORCH_PJRT_PLUGIN="cpu")
    assert done.returncode == 0, done.stderr
    for part in ("versions", "plugins", "* cpu", "devices", "tpu:0", "cache", "environment variables", "problems"):
        assert part in done.stdout


def test_a_broken_plugin_is_code_1_with_a_hint(child: Child, tmp_path: Path) -> None:
    done = child(JSON, TORCH_PJRT_PLUGIN=str(tmp_path / "none.so"))
    assert done.returncode == 1
    problems = json.loads(done.stdout)["problems"]
    assert len(problems) == 1 and problems[0]["broken"] and problems[0]["hint"]
    assert problems[0]["what"].endswith("there is no such file")
    assert "BROKEN" in child(DOCTOR, TORCH_PJRT_PLUGIN=str(tmp_path / "none.so")).stdout


def test_a_file_that_is_no_plugin(child: Child, tmp_path: Path) -> None:
    (tmp_path / "x.so").write_text("text")
    done = child(JSON, TORCH_PJRT_PLUGIN=str(tmp_path / "x.so"))
    assert done.returncode == 1
    assert "is not a library that can be loaded" in json.loads(done.stdout)["problems"][0]["what"]


def test_a_cache_folder_that_cannot_be_written(child: Child, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = child(JSON, TORCH_PJRT_CACHE_DIR=str(tmp_path / "file" / "cache"))
    assert done.returncode == 1
    assert any("cannot be written" in problem["what"] for problem in json.loads(done.stdout)["problems"])


def test_a_misspelt_variable_is_a_note(child: Child) -> None:
    done = child(JSON, TORCH_PJRT_PLUGINS="cpu")
    (problem,) = json.loads(done.stdout)["problems"]
    assert done.returncode == 0 and not problem["broken"] and "TORCH_PJRT_PLUGINS" in problem["what"]


def test_a_torch_that_does_not_fit(child: Child) -> None:
    code = "import torch; torch.__version__ = '2.99.0';" + JSON
    done = child(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.returncode == 1
    assert "there is no bridge to torch 2.99.0" in json.loads(done.stdout)["problems"][0]["what"]


def test_no_command_is_a_usage_error(child: Child) -> None:
    done = child("import sys; from torch_pjrt import cli; cli.main([])")
    assert done.returncode == 2 and "usage: torch-pjrt" in done.stderr
