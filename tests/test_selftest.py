"""`torch-pjrt doctor --selftest`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Child
from torch_pjrt import selftest


def command(report: Path) -> str:
    arguments = ["doctor", "--selftest", "--report", str(report)]
    return f"import sys; from torch_pjrt import cli; sys.exit(cli.main({arguments!r}))"


def test_all_checks_pass_and_the_report_has_them(child: Child, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = child(command(report))
    assert done.returncode == 0, done.stdout + done.stderr
    facts = json.loads(report.read_text())
    names = {row["name"] for row in facts["selftest"] if row["passed"]}
    assert names == {check.__name__ for check in (*selftest.FAMILIES, *selftest.DUTIES)}
    assert facts["devices"] and facts["versions"]["torch"]


def test_a_report_that_cannot_be_written_is_said_before_the_work(child: Child, tmp_path: Path) -> None:
    done = child(command(tmp_path))
    assert done.returncode == 1 and "cannot be written" in done.stdout and "checks passed" not in done.stdout


def test_a_wrong_result_is_a_failure() -> None:
    def broken(device: str):
        return selftest.pointwise(device)[:1] if device == "cpu" else [selftest.pointwise(device)[0] + 1]

    with pytest.raises(AssertionError, match="result 1 of 1"):
        selftest._compare(broken)


def test_a_child_that_ends_fails_its_check_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "_checks", lambda: {"no such check": str, "integers": str})
    first, second = selftest.run()
    assert (first.name, first.passed) == ("no such check", False)
    assert "the process ended with code 1" in first.detail and "no such check" in first.detail
    assert (second.name, second.passed) == ("integers", True)


def test_a_check_that_stands_still_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "SECONDS_A_CHECK", 0.05)
    (outcome,) = selftest._one_child(["integers", "pointwise"])
    assert not outcome.passed and "no end after" in outcome.detail
