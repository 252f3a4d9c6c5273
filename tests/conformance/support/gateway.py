"""The gateway as a process of its own: temporary folders, configuration, start, tokens, calls,
orderly stop."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from . import rtp
from .http import Response, fetch
from .wait import PATIENCE, Stopwatch, eventually

_READY = re.compile(
    r"crab gateway ready public=(\S+):(\d+) admin=(\S+?)(?: grpc=(\S+?))?(?: peers=(\S+):(\d+))?"
)
_START_SECONDS, _STOP_SECONDS = 15.0, 20.0
_CALLS_AT_ONCE = 128


def program() -> str:
    """The gateway's executable, from CRAB_BIN."""
    path = os.environ.get("CRAB_BIN")
    if not path or not os.access(path, os.X_OK):
        raise RuntimeError("CRAB_BIN has to name the crab executable")
    return path


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `changes` on top; objects are merged, everything else is replaced."""
    result = dict(base)
    for key, value in changes.items():
        earlier = result.get(key)
        result[key] = (
            merged(earlier, value)
            if isinstance(earlier, Mapping) and isinstance(value, Mapping)
            else value
        )
    return result


@dataclass(frozen=True)
class Reply:
    """The answer to one call; `seconds` from before the request to after the response."""

    http: Response
    body: dict[str, Any]
    seconds: float

    @property
    def status(self) -> str:
        return self.body["status"]

    @property
    def result(self) -> dict[str, Any]:
        assert self.status == "ok", f"the call failed: {self.body}"
        return self.body["result"]

    @property
    def error(self) -> dict[str, Any]:
        assert self.status != "ok", f"the call succeeded: {self.body}"
        return self.body["error"]

    @property
    def code(self) -> str:
        return self.error["code"]


class Gateway:
    """A running gateway. A context manager; leaving it stops the process and checks that nothing
    stays behind."""

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        prefix: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`prefix` are words that become the gateway by exec(); `environment` is added to this
        process's own."""
        self.prefix, self.environment = prefix, {**os.environ, **(environment or {})}
        self.folder = Path(tempfile.mkdtemp(prefix="crab-test-"))
        base = {
            "gateway": {
                "name": "test",
                "threads": 2,
                "state_dir": str(self.folder / "state"),
                "runtime_dir": str(self.folder / "run"),
                "log": {"level": "info"},
            },
            "listen": {"public": "127.0.0.1:0"},
        }
        self.config = merged(base, config or {})
        self.config_file = self.folder / "gateway.yaml"
        self.keep_logs = False
        self.process: subprocess.Popen[str] | None = None
        self._may_end = False  # whether we ended it ourselves
        self._errors: BinaryIO | None = None
        self._tokens: dict[str, str] = {}
        self._count = 0

    def __enter__(self) -> Gateway:
        try:
            self.start()
        except BaseException:
            self.keep_logs = True
            self._clean_up()
            raise
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        self.keep_logs |= kind is not None
        try:
            if self.process.poll() is None:
                self.stop()
            assert (
                self._may_end
            ), f"the gateway ended by itself, status {self.process.returncode}\n{self.log_tail()}"
        except BaseException:
            self.keep_logs = True
            raise
        finally:
            self._clean_up()

    # Life of the process

    def write_config(self, config: Mapping[str, Any]) -> None:
        """Writes the file; JSON is YAML. A running gateway reads it on SIGHUP."""
        self.config = dict(config)
        self.config_file.write_text(json.dumps(self.config, indent=1))

    def start(self) -> None:
        """Starts the process; again, with the same state, after a stop() or kill()."""
        self._close_pipes()
        for name in ("state", "run"):
            (self.folder / name).mkdir(mode=0o700, exist_ok=True)
        self.write_config(self.config)
        self._may_end = False
        self._errors = open(self.folder / "stderr", "ab")  # noqa: SIM115: closed in _clean_up()
        self.process = subprocess.Popen(
            [*self.prefix, program(), "gateway", "run", "--config", str(self.config_file)],
            stdin=subprocess.DEVNULL,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(
            target=self._read_lines, args=(self.process.stdout,), daemon=True
        )
        self._reader.start()
        try:
            line = self._lines.get(timeout=_START_SECONDS)
        except queue.Empty:
            raise AssertionError(
                f"no ready line within {_START_SECONDS} s\n{self.log_tail()}"
            ) from None
        found = _READY.fullmatch((line or "").strip())
        if not found:
            raise AssertionError(f"not a ready line: {line!r}\n{self.log_tail()}")
        self.public = (found[1].strip("[]"), int(found[2]))
        self.admin = Path(found[3])
        self.grpc = found[4]  # host:port, or None
        self.peers = (found[5].strip("[]"), int(found[6])) if found[5] else None
        self._pool = ThreadPoolExecutor(_CALLS_AT_ONCE, "caller")

    def _read_lines(self, pipe: Any) -> None:
        for line in pipe:
            self._lines.put(line)
        self._lines.put(None)

    def stop(self) -> None:
        """SIGTERM; fails unless it exits with 0 and leaves neither process nor socket file."""
        self.process.send_signal(signal.SIGTERM)
        self.wait_stopped()

    def wait_stopped(self) -> None:
        """Waits for the end after a SIGTERM that was sent, and checks what is left."""
        self._may_end = True
        try:
            status = self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f"still running {_STOP_SECONDS} s after SIGTERM\n{self.log_tail()}"
            ) from None
        assert status == 0, f"exit status {status}\n{self.log_tail()}"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, 0)
            raise AssertionError("a process of the gateway is left")
        assert not self.admin.exists(), f"{self.admin} is left"

    def kill(self) -> None:
        """As a crash: nothing is told to anybody."""
        self._may_end = True
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(_STOP_SECONDS)

    def reload(self, changes: Mapping[str, Any]) -> None:
        """Writes a changed configuration and sends SIGHUP; the caller waits for its effect."""
        self.write_config(merged(self.config, changes))
        self.process.send_signal(signal.SIGHUP)

    def _clean_up(self) -> None:
        if self.process and self.process.poll() is None:
            self.kill()
        self._close_pipes()
        if self.keep_logs:
            print(f"kept: {self.folder}\n{self.log_tail()}", file=sys.stderr)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _close_pipes(self) -> None:
        if hasattr(self, "_pool"):
            self._pool.shutdown(wait=False, cancel_futures=True)
        if self._errors:
            self._errors.close()
        if self.process and self.process.stdout:
            self._reader.join(PATIENCE)
            self.process.stdout.close()

    def log_tail(self, size: int = 4000) -> str:
        path = self.folder / "stderr"
        return path.read_text(errors="replace")[-size:] if path.exists() else ""

    def resident_bytes(self) -> int:
        """Resident memory of the process."""
        return self._memory("VmRSS")

    def growth_since(self, resident: int) -> int:
        """How far resident memory rose at its highest, since forget_peak(), above an earlier
        `resident_bytes()`."""
        return self._memory("VmHWM") - resident

    def forget_peak(self) -> int:
        """Starts a new peak; the resident memory now."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")
        return self.resident_bytes()

    def _memory(self, field: str) -> int:
        text = Path(f"/proc/{self.process.pid}/status").read_text()

        def bytes_of(name: str) -> int:
            return int(re.search(rf"{name}:\s+(\d+) kB", text)[1]) * 1024

        # A sanitizer shadows the address space and keeps what was freed: its figures say nothing of
        # ours.
        return 0 if bytes_of("VmSize") > 1 << 40 else bytes_of(field)

    def open_files(self) -> int:
        """Descriptors that the process has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    # The admin socket

    def admin_request(
        self, method: str, target: str, body: Any = None, timeout: float = PATIENCE
    ) -> Response:
        return fetch(self.admin, method, target, None, body, timeout=timeout)

    def unique(self, name: str) -> str:
        """`name` with a number that nobody had before."""
        self._count += 1
        return f"{name}-{self._count}"

    def pair(self, name: str, roles: tuple[str, ...] = ("device", "caller"), **members: Any) -> str:
        """A bearer token for a new device record (or caller) of that name; `members` are more of
        the request."""
        response = self.admin_request(
            "POST",
            "/v1/admin/devices/pair",
            {"name": name, "roles": list(roles), "token": True, **members},
        )
        assert response.status in (200, 201), f"pairing: {response.status} {response.body[:300]!r}"
        token = response.json()["token"]
        assert re.fullmatch(
            "[0-9a-f]{64}", token
        ), "a token is 64 lower-case hexadecimal characters"
        return token

    def caller_token(self, name: str = "tester") -> str:
        """The token of a principal that only calls; one per name."""
        if name not in self._tokens:
            self._tokens[name] = self.pair(name, ("caller",))
        return self._tokens[name]

    def crab(self, *words: str) -> str:
        """Runs another `crab` command against this gateway and returns what it prints; fails unless
        it exits with 0."""
        done = subprocess.run(
            [program(), *words, "--socket", str(self.admin)],
            capture_output=True,
            text=True,
            timeout=20,
        )
        assert (
            done.returncode == 0
        ), f"crab {' '.join(words)}: status {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    # The public listener

    def fetch(
        self,
        method: str,
        target: str,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        body: Any = None,
        timeout: float = PATIENCE,
    ) -> Response:
        """One request; `token` None sends no credential."""
        credential = {"Authorization": f"Bearer {token}"} if token else {}
        return fetch(
            self.public, method, target, {**credential, **(headers or {})}, body, timeout=timeout
        )

    def call(
        self,
        tool: str,
        args: Any = None,
        *,
        token: str | None = None,
        caller: str = "tester",
        headers: Mapping[str, str] | None = None,
        timeout: float = 15.0,
        **members: Any,
    ) -> Reply:
        """Calls a tool over HTTP as `caller`; the response is checked against the schema."""
        request = rtp.call_request(tool, args, **members)
        return self.send_call(request, token=token, caller=caller, headers=headers, timeout=timeout)

    def send_call(
        self,
        request: dict[str, Any],
        *,
        token: str | None = None,
        caller: str = "tester",
        headers: Mapping[str, str] | None = None,
        timeout: float = 15.0,
    ) -> Reply:
        watch = Stopwatch()
        response = self.fetch(
            "POST",
            "/v1/tools/call",
            token or self.caller_token(caller),
            headers,
            request,
            timeout=timeout,
        )
        body = response.json()
        assert response.status == 200, f"{response.status}: {body}"
        rtp.check_response(body, request)
        return Reply(response, body, watch.seconds)

    def start_call(self, tool: str, args: Any = None, **options: Any) -> Future[Reply]:
        """call() in the background."""
        options.setdefault("token", self.caller_token(options.pop("caller", "tester")))
        return self._pool.submit(self.call, tool, args, **options)

    def cancel(self, call_id: str, caller: str = "tester", **members: Any) -> Response:
        body = {"version": "v1", "tenant_id": "default", "call_id": call_id, **members}
        return self.fetch("POST", "/v1/tools/cancel", self.caller_token(caller), body=body)

    def tools(self, caller: str = "tester") -> dict[str, dict[str, Any]]:
        """`GET /v1/tools` by name, checked."""
        response = self.fetch("GET", "/v1/tools", self.caller_token(caller))
        assert response.status == 200, f"{response.status} {response.body[:300]!r}"
        document = response.json()
        rtp.check_discovery(document)
        return {tool["name"]: tool for tool in document["tools"]}

    def wait_listed(self, *names: str) -> None:
        eventually(lambda: set(names) <= self.tools().keys(), f"{names} are listed")

    def wait_gone(self, *names: str) -> None:
        eventually(lambda: not set(names) & self.tools().keys(), f"{names} are no longer listed")
