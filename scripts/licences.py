#!/usr/bin/env python3
"""Print the licences of what a built crab is linked with, compiled from and embeds: the file
third-party-licences.txt of the package. Texts come from Debian's copyright files and from the
npm packages of package-lock.json.

usage: licences.py --built PROGRAM    such as build/release/crab
"""

import re
import sys
from pathlib import Path

from components import Component, shipped, write

HOW = {
    "linked": "shared library, which crab loads",
    "compiled in": "in part compiled into the programs (headers, or linked statically)",
    "embedded": "part of the pages that the gateway serves",
}
RULE = "=" * 80


def without_file_names(text: str) -> str:
    """Debian's copyright files may list every file of a source, two megabytes for Boost. Who holds
    the rights under which licence stays, once for each licence."""
    if not text.startswith("Format:"):
        return text
    holders: dict[str, dict[str, None]] = {}
    others: dict[str, dict[str, None]] = {}
    texts: dict[str, str] = {}
    rest = []
    for stanza in re.split(r"\n(?:[ \t]*\n)+", text):
        fields = dict(re.findall(r"(?m)^([A-Za-z-]+):((?:.*)(?:\n[ \t].*)*)", stanza))
        if "Files" not in fields or "License" not in fields:
            rest.append(re.sub(r"(?m)^Files-Excluded:.*(\n[ \t].*)*\n?", "", stanza))
            continue
        name, _, words = fields["License"].strip().partition("\n")
        key = name if texts.setdefault(name, words) == words else f"{name}\n{words}"
        names = holders.setdefault(key, {})
        names.update((line.strip(), None) for line in fields["Copyright"].splitlines())
        for field in sorted(fields.keys() - {"Files", "Copyright", "License"}):
            others.setdefault(key, {})[f"\n{field}:{fields[field]}"] = None
    for key, names in holders.items():
        name, _, words = key.partition("\n")
        words = words or texts[name]
        listed = "\n".join(f" {line}" for line in names if line)
        said = f"Copyright:\n{listed}{''.join(others.get(key, ()))}\nLicense: {name}"
        rest.append(said + (f"\n{words}" if words else ""))
    return "\n\n".join(part.strip("\n") for part in rest if part.strip())


def document(parts: list[Component]) -> str:
    """One section for each source; packages of one source have one copyright file."""
    sections: dict[bytes, list[Component]] = {}
    for part in parts:
        sections.setdefault(part.licence_file().read_bytes(), []).append(part)
    pieces = [
        "Licences of what crab is linked with, compiled from, and embeds. Its own is the\n"
        "Apache License, version 2.0.\n"
    ]
    for content, group in sorted(sections.items(), key=lambda item: item[1]):
        heads = [f"{part.name} {part.version}: {HOW[part.how]}" for part in sorted(group)]
        pages = sorted({part.homepage for part in group if part.homepage})
        text = content.decode("utf-8", "replace").replace("\r\n", "\n").strip("\n")
        text = without_file_names(text)
        pieces.append("\n".join([RULE, *heads, *pages, RULE, "", text, ""]))
    return "\n".join(pieces)


def main() -> int:
    if len(sys.argv) != 3 or sys.argv[1] != "--built":
        print(__doc__)
        return 0 if "--help" in sys.argv else 2
    return write(lambda: document(shipped(Path(sys.argv[2]))), "licences")


if __name__ == "__main__":
    sys.exit(main())
