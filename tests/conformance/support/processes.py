"""Processes of this machine."""

from __future__ import annotations

import os
from pathlib import Path


def processes_of(marker: str) -> list[int]:
    """The processes of this machine whose command line holds `marker`."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            words = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if marker.encode() in words:
            found.append(int(folder.name))
    return found
