"""Writes docs/supported-ops.md from the sweep's JSON lines: python conformance/table.py build/conformance.jsonl

Ends with 1 where the shares that we promise are not met."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "supported-ops.md"
DTYPES = ("float32", "bfloat16", "int64", "bool", "complex64", "float64")
KINDS = {
    "forward": "results",
    "in_place": "in-place forms",
    "out": "`out=`",
    "gradient": "gradients",
    "error": "error classes",
    "foreach": "foreach lists",
    "module": "`torch.nn` modules",
    "optimizer": "optimizers",
}
RIGHT = ("lowered", "decomposed", "cpu")
MAIN_DTYPES = DTYPES[:4]
# (what, share of right ones, share of right ones without an op on the CPU), in percent
PROMISED = {"ops": (99.0, 95.0), "error": (97.0, 0.0)}
Record = dict[str, Any]


def read(path: str) -> list[Record]:
    """The last record of each case: a file may hold those of interrupted runs."""
    last: dict[tuple[str, ...], Record] = {}
    for line in Path(path).read_text().splitlines():
        record = json.loads(line)
        last[record["kind"], record["name"], record["dtype"]] = record
    return list(last.values())


def shares(records: list[Record]) -> tuple[int, float, float]:
    """(cases, percent right, percent right without the CPU)."""
    right = sum(r["outcome"] in RIGHT for r in records)
    native = sum(r["outcome"] in ("lowered", "decomposed") for r in records)
    total = max(len(records), 1)
    return len(records), 100 * right / total, 100 * native / total


def error_shares(records: list[Record]) -> tuple[int, float, float]:
    total = sum(r.get("inputs", 1) for r in records)
    wrong = sum(r.get("wrong", r.get("inputs", 1)) if r["outcome"] not in RIGHT else 0 for r in records)
    right = 100 * (total - wrong) / max(total, 1)
    return total, right, right


def main_cases(records: list[Record]) -> list[Record]:
    """What is promised about: the four common dtypes, and gradients in float32."""
    return [
        r
        for r in records
        if (r["kind"] in ("forward", "in_place", "out") and r["dtype"] in MAIN_DTYPES)
        or (r["kind"] == "gradient" and r["dtype"] == "float32")
    ]


def totals(records: list[Record]) -> list[str]:
    lines = ["| what | cases | right | right, nothing on the CPU |", "| --- | ---: | ---: | ---: |"]

    def row(name: str, numbers: tuple[int, float, float]) -> None:
        lines.append(f"| {name} | {numbers[0]} | {numbers[1]:.1f} % | {numbers[2]:.1f} % |")

    row("float32, bfloat16, int64, bool, and float32 gradients", shares(main_cases(records)))
    for kind, name in KINDS.items():
        of_kind = [r for r in records if r["kind"] == kind]
        if of_kind:
            row(name, error_shares(of_kind) if kind == "error" else shares(of_kind))
    return lines


def op_rows(records: list[Record]) -> list[str]:
    order = ["failed", "skipped", "cpu", "decomposed", "lowered"]
    cells: dict[str, dict[str, str]] = defaultdict(dict)
    for r in records:
        if r["kind"] in ("forward", "in_place", "out", "gradient"):
            old = cells[r["name"]].get(r["dtype"], "lowered")
            cells[r["name"]][r["dtype"]] = min(old, r["outcome"], key=order.index)
    lines = ["| op | " + " | ".join(DTYPES) + " |", "| --- |" + " --- |" * len(DTYPES)]
    for name in sorted(cells):
        lines.append(f"| {name} | " + " | ".join(cells[name].get(dtype, "") for dtype in DTYPES) + " |")
    return lines


def unmet(records: list[Record]) -> list[str]:
    found = []
    for what, numbers in (
        ("ops", shares(main_cases(records))),
        ("error", error_shares([r for r in records if r["kind"] == "error"])),
    ):
        right, native = PROMISED[what]
        if numbers[1] < right or numbers[2] < native:
            found.append(
                f"{what}: {numbers[1]:.2f} % right, {numbers[2]:.2f} % without the CPU; {right}, {native} wanted"
            )
    return found


def main(path: str) -> int:
    records = read(path)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    text = [
        "# Supported ops",
        "",
        "PyTorch's own samples (OpInfo) on `tpu` with the CPU plugin against PyTorch's CPU, at OpInfo's tolerances; "
        "`make conformance` writes this page.",
        "",
        "*lowered*: by our C++; *decomposed*: by PyTorch into ops that are; *cpu*: some call ran on the CPU; *failed*: "
        "a result, dtype or error differs. A cell is the worst of results, in-place form, `out=` and gradient. "
        "A result that is at most 1.1 times as far from the one in double precision as the CPU's is right, too. "
        "Skipped cases (conformance/skips.toml) count as not right; cases whose `out=` OpInfo knows to be wrong on the "
        "CPU itself are left out.",
        "",
        f"Written at commit {commit.stdout.strip()}; a case that the last run did not reach keeps its earlier record.",
        "",
        *totals(records),
        "",
        *op_rows(records),
        "",
    ]
    PAGE.write_text("\n".join(text))
    print("\n".join(totals(records)))
    missing = unmet(records)
    for line in missing:
        print("not met:", line)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
