#!/usr/bin/env python3
"""A folder of notes as tools: notes.py SOCKET FOLDER."""

import sys
from pathlib import Path

from cetp import CetpError, Provider

provider = Provider("Notes", "Text files of one folder")
folder = Path(sys.argv[2])


@provider.tool("The names of all notes")
def list_notes(_):
    return sorted(path.stem for path in folder.glob("*.txt"))


@provider.tool(
    "The text of one note",
    {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
)
def read_note(args):
    path = folder / f"{args['name']}.txt"
    if path.parent != folder or not path.is_file():
        raise CetpError("INVALID_ARGS", "/name: no such note; list_notes names them")
    return path.read_text()


if __name__ == "__main__":
    provider.serve(sys.argv[1])
