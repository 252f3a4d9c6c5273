#!/usr/bin/env python3
"""Make a C++ file that holds the files of a built web page (src/net/http/embedded_site.hpp) as
PAGE_files(), which gateway/listeners/PAGE.hpp declares.

usage: embed_site.py PAGE FOLDER OUT.cpp     PAGE is such as device_page
       embed_site.py PAGE --empty OUT.cpp    a page without files
"""
import gzip
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


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def packed_form(content: bytes) -> tuple[bytes, int]:
    """The content packed by gzip, and its size before that; where that saves nothing, as it is,
    and 0."""
    packed = gzip.compress(content, 9, mtime=0)
    return (packed, len(content)) if len(packed) < 0.9 * len(content) else (content, 0)


def source(page: str, folder: Path | None, out: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file()) if folder else []
    lines = ["// Made by scripts/embed_site.py.", f'#include "gateway/listeners/{page}.hpp"', ""]
    packed = {path: packed_form(path.read_bytes()) for path in files}
    labels = {path: "crab_page_" + digest(content)[:16] for path, (content, _) in packed.items()}
    for label, path in {label: path for path, label in labels.items()}.items():
        file = path
        if packed[path][1]:
            file = out.with_name(f"{label}.gz")
            file.write_bytes(packed[path][0])
        # Constants, each in a section of its own, which is there once for all pages that have the
        # same; hidden, so that it is one more symbol of the program and no more.
        assembly = (
            f'.ifndef {label}\\n.pushsection .rodata.{label},\\"aG\\",@progbits,{label},comdat\\n'
            f'.hidden {label}\\n.weak {label}\\n.balign 16\\n{label}:\\n'
            f'.incbin {json.dumps(json.dumps(str(file.resolve())))[1:-1]}\\n.popsection\\n.endif'
        )
        lines += [f'__asm__("{assembly}");', f'extern "C" const char {label}[];']
    lines += [
        "",
        "namespace crab::gateway {",
        "",
        f"std::span<const net::EmbeddedFile> {page}_files() {{",
    ]
    if files:
        lines.append("    static const net::EmbeddedFile files[] = {")
        for path in files:
            content, unpacked_size = packed[path]
            caching = (
                "kForever" if path.parent.name == "assets" else "kAskEachTime"
            )  # Vite puts a digest into the names there
            etag = json.dumps('"' + digest(path.read_bytes())[:32] + '"')
            lines.append(
                f'        {{"{path.relative_to(folder).as_posix()}", "{TYPES[path.suffix]}", '
                f'{etag}, '
                f"net::EmbeddedFile::Caching::{caching}, {{{labels[path]}, {len(content)}}}, "
                f"{unpacked_size}}},"
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
    out.write_text(source(page, None if folder == "--empty" else Path(folder), out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
