#!/usr/bin/env python3
"""Make src/adapters/mcp/wire/confusable_table.hpp: which characters look like those of tool names.

usage: gen_confusables.py [--check]
  --check   change nothing; exit status 1 if the file is not what would be made

The skeletons are those of UTS 39, as ICU 72 has them (Debian package libicu72, Unicode 15); needed
only here. A row is a character that stays itself under NFKC and whose skeleton is made of the
characters that a listed name may have; all others cannot be taken for one.
"""
import ctypes
import re
import sys
import unicodedata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "src/adapters/mcp/wire/confusable_table.hpp"
HEAD = """// Made by scripts/gen_confusables.py from the tables of UTS 39: run it, not an editor.
// clang-format off
#pragma once

#include <string_view>

namespace crab::mcp {

struct Confusable {
    char32_t character;
    std::string_view looks_like;
};

/// By character, ascending.
inline constexpr Confusable kConfusables[] = {
"""


def skeletons() -> list[tuple[int, str]]:
    """Character and skeleton, of those that have a row."""
    icu = ctypes.CDLL("libicui18n.so.72")
    icu.uspoof_open_72.restype = ctypes.c_void_p
    error = ctypes.c_int(0)
    checker = ctypes.c_void_p(icu.uspoof_open_72(ctypes.byref(error)))
    room = ctypes.create_string_buffer(256)

    def skeleton(text: str) -> str:
        raw = text.encode()
        size = icu.uspoof_getSkeletonUTF8_72(
            checker, 0, raw, len(raw), room, len(room), ctypes.byref(error)
        )
        if error.value > 0:
            raise RuntimeError(f"ICU says {error.value} to U+{ord(text):04X}")
        return room.raw[:size].decode()

    found = []
    for value in range(0x21, 0x110000):
        if 0xD800 <= value < 0xE000:
            continue
        character = chr(value)
        if value >= 0x80 and unicodedata.normalize("NFKC", character) != character:
            continue
        if (like := skeleton(character)) != character and re.fullmatch(r"[\w.-]+", like, re.ASCII):
            found.append((value, like))
    return found


def main(words: list[str]) -> int:
    if "-h" in words or "--help" in words:
        print(__doc__)
        return 0
    rows = [f'{{0x{value:X}, "{like}"}}' for value, like in skeletons()]
    lines = [", ".join(rows[i : i + 5]) for i in range(0, len(rows), 5)]
    text = HEAD + "".join(f"    {line},\n" for line in lines) + "};\n\n}  // namespace crab::mcp\n"
    if "--check" in words:
        return 0 if FILE.exists() and FILE.read_text(encoding="utf-8") == text else 1
    FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
