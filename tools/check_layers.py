"""Checks every #include under src/ against tools/layers.txt: python3 tools/check_layers.py [root]."""

import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
# Core files may use these and std headers (no dot, no slash) only.
LIBC = {
    "cpuid.h", "dirent.h", "dlfcn.h", "elf.h", "errno.h", "execinfo.h", "fcntl.h", "float.h", "immintrin.h", "limits.h",
    "link.h", "poll.h", "pthread.h", "pwd.h", "sched.h", "signal.h", "stdint.h", "stdlib.h", "string.h", "time.h",
    "unistd.h",
}  # fmt: skip


def read_layers(path: Path) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """What each folder may include, and what its tests may."""
    direct: dict[str, tuple[list[str], list[str]]] = {}
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, rest = line.partition(":")
            uses, _, test_uses = rest.partition("|")
            direct[name.strip()] = (uses.split(), test_uses.split())

    def closure(name: str) -> set[str]:
        return {name}.union(*(closure(used) for used in direct[name][0]))

    allowed = {name: closure(name) for name in direct}
    tests = {name: allowed[name].union(*(allowed[used] for used in direct[name][1])) for name in direct}
    return allowed, tests


def problem(layer: str, is_test: bool, shared: bool, quoted: str, angled: str, allowed: set[str]) -> str | None:
    """Why this include is refused, or None. `shared`: it names a file of testing/."""
    if quoted == "pjrt_c_api.h":
        return None if "pjrt" in allowed else f"{layer}/ may not use the PJRT C API"
    if shared:
        return None if is_test else f'"{quoted}" is for tests'
    if quoted:
        folder = quoted.split("/")[0]
        if "/" not in quoted or quoted.startswith("."):
            return f'"{quoted}": write the path from src/'
        return None if folder in allowed else f"{layer}/ may not include {folder}/"
    if layer == "torch_bridge" or re.fullmatch(r"[a-z_]+", angled) or angled in LIBC:
        return None
    if angled.startswith(("sys/", "linux/")) or (is_test and angled == "doctest/doctest.h"):
        return None
    return f"<{angled}>: only std and libc headers here (torch and Python headers belong to torch_bridge/)"


def check(root: Path) -> list[str]:
    allowed, tests = read_layers(root / "tools" / "layers.txt")
    found = []
    for path in sorted(p for p in (root / "src").rglob("*") if p.suffix in (".cc", ".h")):
        layer, name = path.relative_to(root / "src").parts[0], path.relative_to(root)
        if layer not in allowed:
            found.append(f"{name}: the folder {layer}/ is not in tools/layers.txt")
            continue
        is_test = path.name.endswith(("_test.cc", "_test.h"))
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if match := INCLUDE.match(line):
                reach = (tests if is_test else allowed)[layer]
                shared = bool(match[1]) and (root / "testing" / match[1]).exists()
                if why := problem(layer, is_test, shared, match[1] or "", match[2] or "", reach):
                    found.append(f"{name}:{number}: {why}")
    return found


if __name__ == "__main__":
    problems = check(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent))
    print("\n".join(problems) or "layers: every include is allowed")
    sys.exit(1 if problems else 0)
