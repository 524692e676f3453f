"""The command `torch-pjrt`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from torch_pjrt import doctor


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; its exit code is 0 when all is well, 1 when something is broken, 2 for wrong arguments."""
    parser = argparse.ArgumentParser(prog="torch-pjrt", description="PyTorch's device tpu on any PJRT plugin.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    parse_doctor = commands.add_parser("doctor", help="say what is installed, what the device is, and what is wrong")
    parse_doctor.add_argument("--json", action="store_true", help="print one JSON object")
    parse_doctor.add_argument("--selftest", action="store_true", help="compare every family of ops with the CPU")
    parse_doctor.add_argument(
        "--report", type=Path, default=Path("torch-pjrt-selftest.json"), help="file for what --selftest found"
    )
    chosen = parser.parse_args(arguments)

    if chosen.selftest:
        return doctor.run_selftest(chosen.report)
    return doctor.run(as_json=chosen.json)


if __name__ == "__main__":
    sys.exit(main())
