#!/usr/bin/env python3
"""Pack a file by gzip and make a C++ file that hands it out: crab::NAMESPACE::NAME_packed() and
the size that it has unpacked, NAME_size().

usage: embed_packed.py NAMESPACE NAME FILE OUT.cpp
"""
import gzip
import hashlib
import json
import sys
from pathlib import Path


def source(namespace: str, name: str, content: bytes, packed: bytes, file: Path) -> str:
    label = f"crab_{name}_packed_bytes"
    path = json.dumps(json.dumps(str(file.resolve())))[1:-1]
    # the digest: whoever keeps objects by their sources does not see what .incbin reads
    return f"""// Made by scripts/embed_packed.py from {hashlib.sha256(content).hexdigest()}.
#include <cstddef>
#include <string_view>

__asm__(".pushsection .rodata\\n.hidden {label}\\n.globl {label}\\n{label}:\\n"
        ".incbin {path}\\n.popsection");
extern "C" const char {label}[];

namespace crab::{namespace} {{

std::string_view {name}_packed() {{ return {{{label}, {len(packed)}}}; }}
std::size_t {name}_size() {{ return {len(content)}; }}

}}  // namespace crab::{namespace}
"""


def main() -> int:
    if len(sys.argv) != 5:
        print(__doc__)
        return 0 if "--help" in sys.argv else 2
    namespace, name, file, out = *sys.argv[1:3], Path(sys.argv[3]), Path(sys.argv[4])
    content = file.read_bytes()
    packed = gzip.compress(content, 9, mtime=0)
    out.with_suffix(".gz").write_bytes(packed)
    out.write_text(source(namespace, name, content, packed, out.with_suffix(".gz")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
