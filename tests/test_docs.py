"""The docs say what the program does."""

from __future__ import annotations

import re
from pathlib import Path

from torch_pjrt import _C

ROOT = Path(__file__).parent.parent


def test_the_table_of_environment_variables_is_complete():
    text = (ROOT / "docs" / "environment.md").read_text()
    for name, meaning, _ in _C.env_table():
        row = next((line for line in text.splitlines() if line.startswith(f"| `{name}`")), None)
        assert row is not None, name
        assert row.replace("`", "").split("|")[2].strip() == meaning


def test_paths_in_the_readme_exist():
    text = (ROOT / "README.md").read_text()
    for path in (
        "src/torch_bridge",
        "python/torch_pjrt",
        "testing/fake_plugin",
        "tests/test_families.py",
        "tests/test_training.py",
        "conformance",
        "examples",
        "bench",
    ):
        assert path in text
        assert (ROOT / path).exists()


def test_links_in_the_docs_lead_somewhere():
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), (page.name, target)
