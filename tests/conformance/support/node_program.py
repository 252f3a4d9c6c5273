"""A program of tests/support in Node that takes orders and answers them, as lines of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

from .node_device import NODE, PACKAGE
from .wait import eventually

_PROGRAMS = Path(__file__).parents[2] / "support"
_PATIENCE = 20.0  # Node takes its time to start


class NodeProgram:
    """Runs `program` with its options as one word of JSON; close() ends it."""

    def __init__(self, program: str, options: Any) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115: closed in close()
        self.process = subprocess.Popen(
            [NODE, str(_PROGRAMS / program), json.dumps(options)],
            env={**os.environ, "CRAB_DEVICE_PACKAGE": PACKAGE},
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        self.lines: list[dict[str, Any]] = []
        self._count = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.append(json.loads(line))

    def errors(self) -> str:
        """What it has written to standard error."""
        self._errors.seek(0)
        return self._errors.read()

    def send(self, what: str, **members: Any) -> int:
        """Gives an order; its id, which the lines that answer it have."""
        self._count += 1
        self.write({"id": self._count, "do": what, **members})
        return self._count

    def write(self, order: Any) -> None:
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def answers(self, order: int) -> list[dict[str, Any]]:
        return [line for line in list(self.lines) if line.get("id") == order]

    def wait(self, order: int, patience: float = _PATIENCE) -> list[dict[str, Any]]:
        """The lines of an order that has ended, without the mark of the end if that is all."""

        def ended() -> bool:
            return any(line.get("end") for line in self.answers(order))

        eventually(ended, f"order {order} ends", patience)
        return [line for line in self.answers(order) if line != {"id": order, "end": True}]

    def ask(self, what: str, **members: Any) -> dict[str, Any]:
        """The one line that answers an order."""
        [line] = self.wait(self.send(what, **members))
        return line

    def close(self) -> None:
        if not self.process.stdin.closed:
            self.process.stdin.close()
        try:
            self.process.wait(_PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join(_PATIENCE)
            self.process.stdout.close()
            self._errors.close()
