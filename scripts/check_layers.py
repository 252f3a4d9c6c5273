#!/usr/bin/env python3
"""Check that includes point down only: the table of STYLE.md, "The tree", as a test (ctest: layers).

usage: check_layers.py [ROOT]
  ROOT   the checkout to look at (default: the one this script is in)

Rules:
  - a folder of src/ includes itself and the folders below it (LAYERS), by paths from src/;
  - adapters, hosts, stores and buses never include each other;
  - some libraries are seen by few folders, and most of those in .cpp files only (LIBRARIES);
  - what is under core, trust, json, base opens no socket;
  - include/crab needs nothing but std and itself; examples/ see include/crab only, bench/ only itself;
  - a header starts with #pragma once; a .cpp file with a header of its name includes that first.
Prints one line per violation, exit status 1 if there is any.
"""
import re
import sys
from dataclasses import dataclass
from pathlib import Path

# Folder -> what it may include beside itself. `x/*` stands for each folder in x/ by itself. A test may include what its folder may.
VALUES = {"json", "base"}
WIRES = {"net", "net/codec", "crypto"} | VALUES
LAYERS = {
    "base": set(),
    "json": {"base"},
    "crypto": {"base"},
    "net/codec": {"base"},
    "net": {"net/codec", "crypto", "base"},
    "core": VALUES | {"crypto"},
    "trust": {"core", "crypto"} | VALUES,
    "adapters/*": {"trust", "core"} | WIRES,
    "hosts/*": {"core"} | VALUES,
    "agent": {"core"} | WIRES,
    "admin": {"trust", "core"} | WIRES,
    "store/*": {"trust", "core", "hosts/*", "crypto"} | VALUES,
    "bus/*": {"core"} | VALUES,
    "config": VALUES,
    "sdk": {"adapters/sw4rm", "core"} | WIRES,  # less than STYLE.md grants: of adapters the client half of one
    "sdk/machine": {"sdk"} | WIRES,
    "sdk/provider": {"adapters/*"} | VALUES,  # the half of CETP that has no I/O
    "sdk/tool_host": {"sdk", "adapters/rtp", "store/sqlite", "trust", "core"} | WIRES,  # the engine of tool hosts: one adapter, one store
    "apps": {"*"},
}

# First part of a header's path -> the folders that may name it, and whether their headers may too.
LIBRARIES = {
    "nghttp2": ({"net"}, False),
    "google": ({"adapters/*"}, False),
    "openssl": ({"crypto", "net", "net/codec", "apps"}, False),
    "sqlite3.h": ({"store/*"}, False),
    "CLI": ({"apps"}, True),
    "spdlog": ({"base"}, False),
    "yaml-cpp": ({"config"}, False),
    "systemd": ({"sdk/provider", "apps"}, False),
    "zlib.h": ({"net/codec"}, False),
    "pcre2.h": ({"json"}, False),
    "seccomp.h": ({"hosts/*"}, False),
    "histedit.h": ({"apps"}, False),
    "re2": ({"json", "core"}, False),
    "simdjson.h": (VALUES | {"core", "net/codec", "adapters/*", "admin", "sdk", "apps"}, True),
    "boost": ({"*"}, True),
    "fmt": ({"*"}, True),
}
SOCKETS = re.compile(r"boost/asio/(ip/(tcp|udp|resolver|basic_)|local/|posix/|basic_\w*socket|read|write|connect)|sys/socket\.h|sys/epoll\.h|netdb\.h")
NO_SOCKETS = {"base", "json", "core", "trust", "config", "hosts/*", "store/*"}
TEST = re.compile(r"(_test|_bench|_fuzz)\.cpp$|(^|/)test_\w+\.hpp$|fuzz_check\.hpp$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


@dataclass
class Include:
    line: int
    quoted: bool
    path: str


def includes_of(file: Path) -> list[Include]:
    found = []
    for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if match := INCLUDE.match(text):
            found.append(Include(number, match[1] == '"', match[2]))
    return found


def layer_of(path: str) -> tuple[str, str] | None:
    """The folder that a path from src/ belongs to, and its row in LAYERS; the longest that fits."""
    parts = path.split("/")[:-1]
    for length in range(len(parts), 0, -1):
        folder = "/".join(parts[:length])
        for row in (folder, "/".join(parts[:length - 1] + ["*"])):
            if row in LAYERS:
                return folder, row
    return None


def permits(allowed: set[str], row: str) -> bool:
    return "*" in allowed or row in allowed


def check_source(file: Path, src: Path) -> list[str]:
    name = file.relative_to(src).as_posix()
    here = layer_of(name)
    if here is None:
        return [f"{file}: the folder is not in the table of scripts/check_layers.py and STYLE.md"]
    folder, row = here
    is_header, is_test = file.suffix == ".hpp", bool(TEST.search(name))
    found = includes_of(file)
    problems = []

    def report(line: int, text: str) -> None:
        problems.append(f"{file}:{line}: {text}")

    for include in found:
        if include.quoted and include.path.startswith("crab/"):
            if folder.split("/")[0] not in ("sdk", "apps"):
                report(include.line, f"{folder} includes {include.path}, which is for tool authors, sdk and apps")
        elif include.quoted:
            there = layer_of(include.path)
            if there is None or not (src / include.path).exists():
                report(include.line, f'"{include.path}" is no path from src/')
            elif there[0] != folder and there[0] not in LAYERS[row] and not permits(LAYERS[row], there[1]):
                report(include.line, f"{folder} includes {include.path}; it may include {', '.join(sorted(LAYERS[row])) or 'nothing of ours'}")
        else:
            library = LIBRARIES.get(include.path.split("/")[0])
            if library and not is_test:
                if not permits(library[0], row):
                    report(include.line, f"<{include.path}> is for {', '.join(sorted(library[0]))}")
                elif is_header and not library[1]:
                    report(include.line, f"<{include.path}> belongs into .cpp files")
            if SOCKETS.match(include.path) and permits(NO_SOCKETS, row):
                report(include.line, f"<{include.path}>: {folder} opens no socket")
    if is_header and "#pragma once" not in file.read_text(encoding="utf-8"):
        report(1, "no #pragma once")
    own = file.with_suffix(".hpp")
    if file.suffix == ".cpp" and own.exists() and (not found or found[0].path != own.relative_to(src).as_posix()):
        report(found[0].line if found else 1, f'"{own.relative_to(src).as_posix()}" comes first')
    return problems


def check_public(file: Path) -> list[str]:
    return [f"{file}:{i.line}: <{i.path}>: public headers need nothing but std and crab/"
            for i in includes_of(file) if (i.quoted and not i.path.startswith("crab/")) or (not i.quoted and not re.fullmatch(r"\w+", i.path))]


def check_outside(file: Path, src: Path, own: Path) -> list[str]:
    """examples/ and bench/ do not look into src/."""
    return [f"{file}:{i.line}: {i.path} is in src/" for i in includes_of(file)
            if i.quoted and (src / i.path).exists() and not (own / i.path).exists() and not (file.parent / i.path).exists()]


def sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in (".hpp", ".cpp"))


def main(words: list[str]) -> int:
    if "-h" in words or "--help" in words:
        print(__doc__)
        return 0
    root = Path(words[0]) if words else Path(__file__).resolve().parent.parent
    src = root / "src"
    problems = [problem for file in sources(src) for problem in check_source(file, src)]
    problems += [problem for file in sources(root / "include") for problem in check_public(file)]
    for name in ("examples", "bench"):
        problems += [problem for file in sources(root / name) for problem in check_outside(file, src, root / name)]
    for problem in problems:
        print(problem.removeprefix(f"{root}/"))
    print(f"{len(problems)} violations in {len(sources(src))} files", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
