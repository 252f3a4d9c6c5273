#!/usr/bin/env python3
"""Check what the object files of pure folders ask of the system (ctest: layers.symbols).

usage: check_symbols.py BUILD [ROOT]
  BUILD  a folder that is built
  ROOT   the checkout (default: the one this script is in)

check_layers.py reads sources; this sees what a macro, a header or another spelling brings in: a
folder that may touch no file has no undefined symbol such as `fopen` or `fork`, and one that opens
no socket has no `connect`. Symbols of C++ that are std's files are refused as well. Tests are not
looked at. Prints one line per symbol, exit status 1 if there is any, or if a folder is not built.
"""
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from check_layers import FILE_NAMES, NO_SOCKETS, PURE, SOCKET_NAMES, SYSTEM_NAMES, TEST
from check_layers import layer_of, permits, sources, target_of

# A name of C, as the compiler's library may spell it: `open64`, `__read_chk`, `__isoc23_...`.
SPELLED = r"_*(?:{})(?:64)?(?:_2|_chk)?"
PURE_SYMBOLS = re.compile(
    SPELLED.format(
        f"{FILE_NAMES}|{SYSTEM_NAMES}|open|read|write|rename|remove|stat|link|access|system|select"
        "|clone|wait"
    )
    + r"|_Z\w*(?:basic_[io]?fstream|basic_filebuf|10filesystem)\w*"
)
SOCKET_SYMBOLS = re.compile(
    SPELLED.format(f"{SOCKET_NAMES}|socket|socketpair|bind|connect|listen|accept|send")
)
# base/descriptor.cpp writes to a descriptor that it is given.
EXCEPTIONS = {"base": {"write", "fsync"}}


def refused(folder: str, symbols: Iterable[str]) -> list[str]:
    rules = [PURE_SYMBOLS, SOCKET_SYMBOLS] if permits(PURE, folder) else [SOCKET_SYMBOLS]
    allowed = EXCEPTIONS.get(folder, set())
    return sorted(
        name for name in set(symbols) - allowed if any(rule.fullmatch(name) for rule in rules)
    )


def undefined(objects: list[Path]) -> set[str]:
    done = subprocess.run(
        ["nm", "-u", "-P", *map(str, objects)], check=True, capture_output=True, text=True
    )
    words = (line.split() for line in done.stdout.splitlines())
    return {it[0] for it in words if len(it) > 1}


def folders_of(src: Path) -> list[str]:
    """Those with a rule and with code of their own."""
    names = (path.relative_to(src) for path in sources(src) if path.suffix == ".cpp")
    with_code = {it.parent.as_posix() for it in names if not TEST.search(it.as_posix())}
    return sorted(it for it in with_code if layer_of(it + "/") and permits(NO_SOCKETS, it))


def main(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if words else 2
    root = Path(words[1]) if len(words) > 1 else Path(__file__).resolve().parent.parent
    problems = []
    folders = folders_of(root / "src")
    for folder in folders:
        target = Path(words[0]) / "src" / folder / "CMakeFiles" / f"{target_of(folder)}.dir"
        objects = sorted(target.rglob("*.o"))
        if not objects:
            problems.append(f"{folder}: no object files in {target}")
            continue
        problems += [
            f"{folder}: `{name}` is used by an object file in {target}"
            for name in refused(folder, undefined(objects))
        ]
    for problem in problems:
        print(problem)
    print(f"{len(problems)} violations in {len(folders)} folders", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
