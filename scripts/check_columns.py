#!/usr/bin/env python3
"""Check that no line of code or prose has more than 100 characters (ctest: format).

usage: check_columns.py [ROOT]
  ROOT   the checkout to look at (default: the one this script is in)

Looked at: C++, Python, TypeScript, JavaScript, styles, HTML, shell and CMake by their endings,
scripts without one by their first line, and Markdown. In a checkout those that git knows, in an
export all but build/ and node_modules/.

Exempt:
  - spec/, docs/reference/, docs/images/ and tests/fuzz/corpus/; files whose first line says
    "Made by";
  - in code: `#include`, and `def test_` with its name, which a checklist may repeat;
  - in Markdown: tables, code between fences, and a line that is one link or address.
Prints one line per violation, exit status 1 if there is any.
"""
import re
import subprocess
import sys
from pathlib import Path

COLUMNS = 100
ENDINGS = set(".cpp .hpp .py .ts .js .mjs .css .html .sh .cmake .md".split())
NOT_OURS = ("spec/", "docs/reference/", "docs/images/", "tests/fuzz/corpus/")
EXEMPT_CODE = re.compile(r"\s*(#\s*include\b|(async )?def test_)")
EXEMPT_PROSE = re.compile(r"\s*(\||([-*] |\d+\. |> |\[[^]]+\]: *)?(\[[^]]*\]\()?\S+$)")
FENCE = re.compile(r"\s*(```+|~~~+)")


def files(root: Path) -> list[str]:
    """What git knows in `root`, or where there is no repository all files; paths from `root`."""
    if (root / ".git").exists():
        ask = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others"]
        told = subprocess.run(
            ask + ["--exclude-standard"], check=True, capture_output=True, text=True
        )
        names = {name for name in told.stdout.split("\0") if name}
    else:
        names = {path.relative_to(root).as_posix() for path in root.rglob("*")}
        names = {
            name
            for name in names
            if not name.startswith("build/") and "node_modules" not in name.split("/")
        }
    return sorted(name for name in names if (root / name).is_file())


def is_checked(path: Path, name: str) -> bool:
    if name.startswith(NOT_OURS) or path.is_symlink():
        return False
    if path.suffix in ENDINGS or path.name == "CMakeLists.txt":
        return True
    if path.suffix:
        return False
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def long_lines(name: str, text: str) -> list[tuple[int, int]]:
    """Number and length of each line that is too long."""
    lines = text.splitlines()
    if lines and "Made by" in lines[0]:
        return []
    prose = name.endswith(".md")
    fence = ""
    found = []
    for number, line in enumerate(lines, 1):
        if prose and (mark := FENCE.match(line)):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence):
                fence = ""
            continue
        if len(line) <= COLUMNS or fence:
            continue
        if not (EXEMPT_PROSE if prose else EXEMPT_CODE).match(line):
            found.append((number, len(line)))
    return found


def main(words: list[str]) -> int:
    if "-h" in words or "--help" in words:
        print(__doc__)
        return 0
    root = Path(words[0]) if words else Path(__file__).resolve().parent.parent
    names = [name for name in files(root) if is_checked(root / name, name)]
    problems = 0
    for name in names:
        for number, length in long_lines(name, (root / name).read_text(encoding="utf-8")):
            print(f"{name}:{number}: {length} characters, and {COLUMNS} are the most")
            problems += 1
    print(f"{problems} lines too long in {len(names)} files", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
