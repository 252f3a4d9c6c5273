"""A device of clients/typescript in Node: the program of tests/support/node_device.mjs, and the
lines that it has written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

from .wait import eventually

NODE = shutil.which("node") or shutil.which("nodejs")
PACKAGE = os.environ.get("CRAB_DEVICE_PACKAGE", "")
MISSING = (
    "" if NODE and PACKAGE else "Node.js or the compiled package is missing (cmake/CrabWeb.cmake)"
)
_PROGRAM = Path(__file__).parents[2] / "support" / "node_device.mjs"
_PATIENCE = 20.0  # Node takes its time to start


class NodeDevice:
    """Dials `port` of this machine; close() ends it."""

    def __init__(
        self, port: int, name: str, token: str, environment: dict[str, str] | None = None
    ) -> None:
        environment = {
            **os.environ,
            "CRAB_TOKEN": token,
            "CRAB_DEVICE_PACKAGE": PACKAGE,
            **(environment or {}),
        }
        self.process = subprocess.Popen(
            [NODE, str(_PROGRAM), f"http://127.0.0.1:{port}", name],
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.lines: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.append(json.loads(line))

    def order(self, word: str) -> None:
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [
            line["event"] for line in list(self.lines) if line.get("event", {}).get("kind") == kind
        ]

    def wait_event(self, kind: str, count: int = 1) -> dict[str, Any]:
        eventually(
            lambda: len(self.events(kind)) >= count, f"event {kind} number {count}", _PATIENCE
        )
        return self.events(kind)[count - 1]

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(_PATIENCE)
        self._reader.join(_PATIENCE)
        self.process.stdout.close()
