"""The examples do what they say; fewer steps than a user would take."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def last_line(name: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments], capture_output=True, text=True, timeout=600, env=os.environ
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()[-1]


def test_lora_learns_the_text(tmp_path):
    line = last_line("finetune_lora.py", "--steps", "10", "--output", str(tmp_path / "adapter"))
    first, last = map(float, re.match(r"loss ([\d.]+) -> ([\d.]+),", line).groups())
    assert last < 0.8 * first
    assert (tmp_path / "adapter" / "adapter_model.safetensors").exists()


def test_an_image_is_generated(tmp_path):
    line = last_line("generate_image.py", "--steps", "40", "--output", str(tmp_path / "disc.png"))
    first, last = map(float, re.match(r"loss ([\d.]+) -> ([\d.]+),", line).groups())
    assert last < 0.6 * first
    assert (tmp_path / "disc.png").stat().st_size > 0


def test_sentences_are_classified():
    line = last_line("classify_text.py")
    assert int(re.match(r"(\d+)% of 100", line)[1]) >= 90
