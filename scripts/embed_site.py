#!/usr/bin/env python3
"""Make a C++ file that holds the files of a built web page (src/net/http/embedded_site.hpp) as
PAGE_files(), which gateway/PAGE.hpp declares.

usage: embed_site.py PAGE FOLDER OUT.cpp     PAGE is such as device_page
       embed_site.py PAGE --empty OUT.cpp    a page without files
"""
import hashlib
import json
import sys
from pathlib import Path

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webmanifest": "application/manifest+json",
    ".json": "application/json",
}


def source(page: str, folder: Path | None) -> str:
    def label(index: int) -> str:
        return f"crab_{page}_{index}"

    files = sorted(path for path in folder.rglob("*") if path.is_file()) if folder else []
    lines = ["// Made by scripts/embed_site.py.", f'#include "gateway/{page}.hpp"', ""]
    for index, path in enumerate(files):
        # In the section of constants; hidden, so that it is one more symbol of the program and no
        # more.
        assembly = (
            f'.pushsection .rodata\\n.hidden {label(index)}\\n.globl {label(index)}\\n.balign '
            f'16\\n{label(index)}:\\n'
            f'.incbin {json.dumps(json.dumps(str(path.resolve())))[1:-1]}\\n.popsection'
        )
        lines += [f'__asm__("{assembly}");', f'extern "C" const char {label(index)}[];']
    lines += [
        "",
        "namespace crab::gateway {",
        "",
        f"std::span<const net::EmbeddedFile> {page}_files() {{",
    ]
    if files:
        lines.append("    static const net::EmbeddedFile files[] = {")
        for index, path in enumerate(files):
            content = path.read_bytes()
            caching = (
                "kForever" if path.parent.name == "assets" else "kAskEachTime"
            )  # Vite puts a digest into the names there
            etag = json.dumps('"' + hashlib.sha256(content).hexdigest()[:32] + '"')
            lines.append(
                f'        {{"{path.relative_to(folder).as_posix()}", "{TYPES[path.suffix]}", '
                f'{etag}, '
                f"net::EmbeddedFile::Caching::{caching}, {{{label(index)}, {len(content)}}}}},"
            )
        lines += ["    };", "    return files;"]
    else:
        lines.append("    return {};")
    return "\n".join([*lines, "}", "", "}  // namespace crab::gateway", ""])


def main() -> int:
    if len(sys.argv) != 4 or "--help" in sys.argv:
        print(__doc__)
        return 0 if "--help" in sys.argv else 2
    page, folder, out = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(source(page, None if folder == "--empty" else Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
