"""Starts the fixture server of tests/conformance/mcp/fixture."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from mcp_links import HttpLink, Link, SseLink, StdioLink

FOLDER = Path(__file__).resolve().parents[1] / "conformance" / "mcp" / "fixture"


def command(*options: str) -> list[str]:
    """The words that start it on stdio; `options` are in its --help."""
    return [sys.executable, str(FOLDER), *options]


class Fixture:
    """The fixture on a port of its own. A context manager; leaving it stops the process."""

    def __init__(self, *options: str, transport: str = "http") -> None:
        self.transport = transport
        words = command("--transport", transport, *options)
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"fixture ready port=(\d+) url=(\S+)\n", line)
        if not found:
            self.process.kill()
            self.process.communicate()
            raise AssertionError(f"not a ready line: {line!r}")
        self.port, self.url = int(found[1]), found[2]

    def __enter__(self) -> Fixture:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.communicate(timeout=10)

    def link(self) -> Link:
        return SseLink(self.url) if self.transport == "sse" else HttpLink(self.url)


def stdio(*options: str, stderr: int | None = None, timeout: float = 10.0) -> StdioLink:
    return StdioLink(command(*options), timeout=timeout, stderr=stderr)
