"""A NATS server of a test's own, on a free port of 127.0.0.1."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from .wait import eventually

_PROGRAM = shutil.which("nats-server") or "/usr/sbin/nats-server"


class NatsServer:
    """A context manager."""

    def __init__(self, *words: str) -> None:
        self._words = words
        self._folder = Path(tempfile.mkdtemp(prefix="crab-nats-"))
        self._process: subprocess.Popen[bytes] | None = None
        self.address = ""  #: host:port, the same after a start() that follows a kill()

    def __enter__(self) -> NatsServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def url(self) -> str:
        return f"nats://{self.address}"

    def start(self) -> None:
        port = self.address.rpartition(":")[2] or "-1"
        self._process = subprocess.Popen(
            [
                _PROGRAM,
                *("-a", "127.0.0.1", "-p", port, "--ports_file_dir", str(self._folder)),
                *self._words,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.address = eventually(self._read_address, "the NATS server says its port", 30)

    def kill(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait(20)
            self._process = None
        for file in self._folder.glob("*.ports"):
            file.unlink()

    def _read_address(self) -> str:
        """Of `{"nats":["nats://127.0.0.1:40213"]}`."""
        assert self._process is not None and self._process.poll() is None, "nats-server ended"
        for file in self._folder.glob("*.ports"):
            text = file.read_text()
            if "}" in text:
                return text.partition("nats://")[2].partition('"')[0]
        return ""
