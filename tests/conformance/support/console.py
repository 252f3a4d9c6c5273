"""`crab console` as a process of its own, and its page's requests."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .gateway import program
from .http import Response, fetch
from .wait import PATIENCE
from .websocket import WebSocket

_READY = re.compile(r"crab console ready (http://127\.0\.0\.1:(\d+)/console/)#in=([\w-]{43})\n")


class Console:
    """A context manager. `code` is that of the newest printed link; after sign_in() requests bring
    both halves of the session."""

    def __init__(self, admin: Path | str, *options: str) -> None:
        self._process = subprocess.Popen(
            [program(), "console", "--port", "0", "--socket", str(admin), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.cookie = self.key = ""
        self._read_link()
        self.words = self._process.stdout.readline()

    def _read_link(self) -> None:
        line = self._process.stdout.readline()
        found = _READY.fullmatch(line)
        assert found, f"not the line of a link: {line!r}"
        self.page, self.port, self.code = found[1], int(found[2]), found[3]
        self.origin = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Console:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> int:
        """Ends it as Ctrl-C does; its exit code."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        code = self._process.wait(PATIENCE)
        self._process.stdin.close()
        self._process.stdout.close()
        return code

    def press_enter(self) -> None:
        """Another link is printed."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self._read_link()

    def send(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: Any = None
    ) -> Response:
        """One request as anybody could send it."""
        host = {"Host": f"127.0.0.1:{self.port}"}
        return fetch(
            ("127.0.0.1", self.port), method, f"/console/{path}", {**host, **(headers or {})}, body
        )

    def halves(self) -> dict[str, str]:
        """What the page's requests bring."""
        return {"Cookie": self.cookie, "Crab-Console-Key": self.key}

    def request(self, method: str, path: str, body: Any = None) -> Response:
        """As the page sends it."""
        return self.send(method, path, {**self.halves(), "Sec-Fetch-Site": "same-origin"}, body)

    def sign_in(self) -> Response:
        """Exchanges the code of the newest link."""
        answer = self.send("POST", "session", None, {"code": self.code})
        assert answer.status == 200, answer.body
        self.key = answer.json()["key"]
        self.cookie = answer.headers["set-cookie"].split(";")[0]
        return answer

    def forget_peak(self) -> None:
        """Starts a new peak of resident memory."""
        Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")

    def peak_bytes(self) -> int:
        """Resident memory of the process at its highest."""
        text = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", text)[1]) * 1024

    def ticket(self) -> str:
        """For one WebSocket."""
        answer = self.request("POST", "session/ticket")
        assert answer.status == 200, answer.body
        return answer.json()["ticket"]

    def websocket(
        self, ticket: str | None, path: str = "api/ws/chat", *more: str, **headers: str
    ) -> WebSocket:
        """As the page opens it; members of `headers` replace its own, `more` are subprotocols that
        it offers besides the ticket."""
        own = {
            "Host": f"127.0.0.1:{self.port}",
            "Origin": self.origin,
            "Cookie": self.cookie,
            "Sec-Fetch-Site": "same-origin",
        }
        offered = (*(() if ticket is None else (f"crab-ticket.{ticket}",)), *more)
        fields = {name: value for name, value in {**own, **headers}.items() if value}
        return WebSocket(
            ("127.0.0.1", self.port), f"/console/{path}", headers=fields, subprotocols=offered
        )
