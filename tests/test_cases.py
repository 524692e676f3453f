"""The programs in tests/cases, each in a process of its own, as a user would start it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).parent / "cases"
sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))


def run(name: str, **env: str) -> str:
    import smollm2

    settings = {**os.environ, "SMOLLM2_DIR": str(smollm2.gguf_folder()), "HF_HUB_OFFLINE": "1", **env}
    done = subprocess.run(
        [sys.executable, str(CASES / name)], env=settings, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("name", ["greedy_matches_cpu.py", "train_matches_cpu.py"])
def test_case_ends_with_ok(name):
    assert run(name).splitlines()[-1] == "ok"


def test_the_guides_program_runs_as_it_stands():
    first, _, text = run("guide_snippet.py").partition("\n")
    assert first == "running on: tpu:0"
    prompt = "Explain what a matrix unit is."
    assert text.startswith(prompt)
    assert len(text.split()) > len(prompt.split()) + 5
