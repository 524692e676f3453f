"""Checks what formatters cannot see: length, budget, exceptions, macros, names. Usage: check_style.py [root]."""

import re
import sys
from pathlib import Path

FOLDERS = ("src", "testing", "bench", "examples", "python", "tests", "tools", "cmake")
LIMITS = {"header": 200, "source": 600, "test": 800}
MACROS = re.compile(r"(TP_OP|TP_TRY|TP_CHECK)(_[A-Z0-9]+)*$|DOCTEST_CONFIG_[A-Z_]+$")
BAD_NAME = re.compile(r"(?:^|_)(utils?|helpers?|manager|common)(?:_|$)")
BANNED_INCLUDES = re.compile(r'#\s*include\s*[<"](torch/extension\.h|torch/torch\.h|torch/all\.h|iostream|regex)[>"]')
# (what, its pattern, the paths where it is allowed)
RULES = [
    ("throw", re.compile(r"\bthrow\b"), "src/torch_bridge/"),
    ("try", re.compile(r"\btry\b"), "src/torch_bridge/"),
    ("thread_local", re.compile(r"\bthread_local\b"), "src/torch_bridge/"),
    ("getenv", re.compile(r"\b(?:secure_)?getenv\b"), "src/base/env.cc"),
    ("using namespace", re.compile(r"\busing\s+namespace\b"), None),
]
# Comments, strings and character literals; a digit separator (1'000) is no literal.
NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^()\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL,
)


def code_only(text: str) -> str:
    """The text with comments and literals blanked, line by line; includes keep their paths."""

    def blank(match: re.Match) -> str:
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        if re.fullmatch(r"\s*#\s*include\s*", before):
            return match.group()
        return '""' + "\n" * match.group().count("\n")

    return NOT_CODE.sub(blank, text)


def kind(path: Path) -> str:
    if path.stem.endswith("_test") or path.name.startswith(("test_", "conftest")):
        return "test"
    return "header" if path.suffix == ".h" else "source"


def check_cpp(path: Path, name: str, text: str) -> list[str]:
    found = []
    lines = code_only(text).splitlines()
    for number, line in enumerate(lines, 1):
        at = f"{name}:{number}"
        for what, pattern, allowed in RULES:
            if pattern.search(line) and not (allowed and name.startswith(allowed)):
                found.append(f"{at}: {what} is allowed {'in ' + allowed + ' only' if allowed else 'nowhere'}")
        if match := BANNED_INCLUDES.search(line):
            found.append(f"{at}: {match.group(1)} costs too much: include a narrow header")
        if (match := re.match(r"\s*#\s*define\s+(\w+)", line)) and not MACROS.match(match.group(1)):
            found.append(f"{at}: macro {match.group(1)}: only TP_OP, TP_TRY and TP_CHECK")
    if path.suffix == ".h" and "#pragma once" not in lines:
        found.append(f"{name}: a header needs #pragma once")
    twin = path.with_suffix(".h")
    if path.suffix == ".cc" and twin.exists() and name.startswith("src/"):
        first = next((line for line in lines if line.startswith("#include")), "")
        if first != f'#include "{Path(name).with_suffix(".h").relative_to("src")}"':
            found.append(f"{name}: its own header comes first, so that each header is seen to compile alone")
    return found


def check_file(path: Path, root: Path) -> list[str]:
    name = path.relative_to(root).as_posix()
    text = path.read_text()
    found = []
    length, limit = text.count("\n"), LIMITS[kind(path)]
    if length > limit:
        found.append(f"{name}: {length} lines, a {kind(path)} may have {limit}: split it by meaning")
    if match := BAD_NAME.search(path.stem):
        found.append(f'{name}: "{match.group(1)}" says nothing: name the file by what it holds')
    if path.suffix in (".cc", ".h"):
        found += check_cpp(path, name, text)
    return found


def check_budget(files: list[Path], root: Path) -> list[str]:
    """tools/budget.txt: the most lines a folder may have, tests not counted."""
    found = []
    for line in (root / "tools" / "budget.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        folder, most = line.split()
        counted = [p for p in files if p.is_relative_to(root / folder) and kind(p) != "test"]
        total = sum(p.read_text().count("\n") for p in counted)
        if total > int(most):
            found.append(f"{folder}: {total} lines, its budget is {most} (tools/budget.txt)")
    return found


def check(root: Path) -> list[str]:
    files = [
        path
        for folder in FOLDERS
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in (".cc", ".h", ".py") and "__pycache__" not in path.parts
    ]
    return [found for path in files for found in check_file(path, root)] + check_budget(files, root)


if __name__ == "__main__":
    problems = check(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent))
    print("\n".join(problems) or "style: length, budget, exceptions, macros and names are as STYLE.md says")
    sys.exit(1 if problems else 0)
