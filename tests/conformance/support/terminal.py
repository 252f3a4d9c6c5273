"""A program at a terminal: what it shows is read, what is typed is written; nothing sleeps."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]")
_PATIENCE = 15.0


class Terminal:
    """A context manager: the program runs with a pseudo terminal of 200 columns as its controlling
    one, and is gone afterwards."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.shown = ""
        self._read = 0
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={"TERM": "xterm", "LC_ALL": "C.UTF-8", **environment},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        os.close(self._ours)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def wait_for(self, text: str) -> str:
        """Reads on until that is shown, after what was waited for before; without escape
        sequences."""
        end = time.monotonic() + _PATIENCE
        while (at := self.shown.find(text, self._read)) < 0:
            self._take(end, f"{text!r} was not shown")
        before, self._read = self.shown[self._read : at], at + len(text)
        return before

    def wait_for_editing(self) -> None:
        """Reads on until the program takes keys one by one: a prompt may be shown a moment before
        that."""
        end = time.monotonic() + _PATIENCE
        while termios.tcgetattr(self._ours)[3] & (termios.ICANON | termios.ISIG):
            self._take(end, "the program takes whole lines")

    def ended(self) -> int:
        """The exit status; reads what is still shown."""
        end = time.monotonic() + _PATIENCE
        try:
            while self.process.poll() is None:
                self._take(end, "the program goes on")
        except EOFError:
            pass
        return self.process.wait(_PATIENCE)

    def _take(self, end: float, otherwise: str) -> None:
        left = end - time.monotonic()
        if left <= 0:
            raise AssertionError(f"{otherwise}; shown: {self.shown[-2000:]!r}")
        ready, _, _ = select.select([self._ours], [], [], min(left, 0.2))
        if not ready:
            return
        try:
            part = os.read(self._ours, 65_536)
        except OSError:
            part = b""
        if not part:
            raise EOFError(f"{otherwise}; the program has ended; shown: {self.shown[-2000:]!r}")
        self.shown = _ESCAPES.sub("", self.shown + part.decode("utf-8", "replace")).replace(
            "\r", ""
        )
