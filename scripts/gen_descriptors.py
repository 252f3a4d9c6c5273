#!/usr/bin/env python3
"""Make src/adapters/sw4rm/descriptors.cpp from spec/sw4rm/*.proto: what gRPC reflection hands out.

usage: gen_descriptors.py [--check]
  --check   change nothing; exit status 1 when the file is not what the .proto files give
Needs protoc (package protobuf-compiler).
"""
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SPEC = ROOT / "spec" / "sw4rm"
TARGET = ROOT / "src" / "adapters" / "sw4rm" / "descriptors.cpp"
PER_LINE = 24

HEAD = """// Made by scripts/gen_descriptors.py from spec/sw4rm/*.proto: edit those, not this.
#include "adapters/sw4rm/descriptors.hpp"

// clang-format off
namespace crab::sw4rm {
namespace {

constexpr unsigned char kBytes[] = {
"""
TAIL = """};

}  // namespace

std::string_view descriptor_set() { return {reinterpret_cast<const char*>(kBytes), sizeof kBytes}; }

}  // namespace crab::sw4rm
"""


def descriptor_set() -> bytes:
    files = sorted(path.name for path in SPEC.glob("*.proto"))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "set"
        subprocess.run(
            [
                "protoc",
                f"--proto_path={SPEC}",
                "--proto_path=/usr/include",
                "--include_imports",
                f"--descriptor_set_out={out}",
                *files,
            ],
            check=True,
        )
        return out.read_bytes()


def main() -> int:
    if "--help" in sys.argv[1:] or "-h" in sys.argv[1:]:
        print(__doc__)
        return 0
    data = descriptor_set()
    lines = (
        "    " + ",".join(str(byte) for byte in data[at : at + PER_LINE]) + ",\n"
        for at in range(0, len(data), PER_LINE)
    )
    text = HEAD + "".join(lines) + TAIL
    if "--check" in sys.argv[1:]:
        if TARGET.read_text() == text:
            return 0
        print(
            f"{TARGET.relative_to(ROOT)} is not what spec/sw4rm gives: run "
            f"scripts/gen_descriptors.py"
        )
        return 1
    TARGET.write_text(text)
    print(f"wrote: {TARGET.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
