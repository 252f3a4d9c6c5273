"""`crab bridge run` as a process in an environment of its own, and providers behind Unix sockets
whose every answer the test decides."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .gateway import Gateway, program
from .wait import eventually


#: The labels of the adapters inside the bridge.
BUILT_IN = (
    "battery",
    "calendar",
    "clipboard",
    "contacts",
    "journal",
    "media",
    "network",
    "search",
    "system",
    "time",
)


def tool(name: str, **members: Any) -> dict[str, Any]:
    """An element of a list of tools; `members` replace or add."""
    return {
        "name": name,
        "description": f"{name} of a test",
        "parameters": {"type": "object"},
        **members,
    }


def success(data: Any) -> dict[str, Any]:
    return {"status": "success", "data": data if isinstance(data, str) else json.dumps(data)}


def error(code: str, message: str = "as the test wants it", **members: Any) -> dict[str, Any]:
    return {"status": "error", "error_code": code, "error_message": message, **members}


class UnixProvider:
    """Listens at `path`. `on_list` and `on_execute` get the extras and return an envelope, raw
    bytes, or None to close without one; each runs on a thread of its call. `calls` are the (method,
    extras) that came."""

    def __init__(self, path: Path, *tools: dict[str, Any]) -> None:
        self.path = path
        self.on_list: Callable[[dict[str, str]], Any] = lambda _: success({"tools": list(tools)})
        self.on_execute: Callable[[dict[str, str]], Any] = lambda extras: success(extras["args"])
        self.calls: list[tuple[str, dict[str, str]]] = []
        self.released = threading.Event()  #: set by stop(); for answers that hang
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(64)
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def named(self, method: str) -> list[dict[str, str]]:
        """The extras of the calls of that method."""
        return [extras for name, extras in self.calls if name == method]

    def hang(self, _: dict[str, str]) -> None:
        """An answer that does not come before the end of the test."""
        self.released.wait()

    def stop(self) -> None:
        self.released.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepting.join()
        for thread in self._threads:
            thread.join()
        with contextlib.suppress(FileNotFoundError):
            self.path.unlink()

    def _accept(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            self._threads.append(threading.Thread(target=self._serve, args=(link,), daemon=True))
            self._threads[-1].start()

    def _serve(self, link: socket.socket) -> None:
        with link, contextlib.suppress(OSError):
            text = b""
            while part := link.recv(65536):
                text += part
            call = json.loads(text)
            assert text.endswith(b"\n") and text.count(b"\n") == 1, "a call is one line"
            self.calls.append((call["method"], call["extras"]))
            answer = {"list_tools": self.on_list, "execute_tool": self.on_execute}.get(
                call["method"], lambda _: error("TOOL_NOT_FOUND")
            )
            reply = answer(call["extras"])
            if reply is not None:
                link.sendall(
                    reply
                    if isinstance(reply, bytes)
                    else json.dumps(reply, ensure_ascii=False).encode()
                )


class BridgeHome:
    """The folders and the environment of one user's bridge, with or without a bridge in them."""

    def __init__(self, *built_in: str, **environment: str) -> None:
        """`built_in`: the labels of the bridge's own adapters that are on; without them a test sees
        its own providers only."""
        self.folder = Path(tempfile.mkdtemp(prefix="crab-bridge-"))
        self.manifests = self.folder / "data" / "cetp" / "providers"
        self.applications = self.folder / "data" / "applications"
        self.system_manifests = self.folder / "system" / "cetp" / "providers"
        self.choices = self.folder / "config" / "crab" / "providers.json"
        for name in ("data", "system", "config", "run", "state"):
            (self.folder / name).mkdir(mode=0o700)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "XDG_DATA_HOME": str(self.folder / "data"),
            "XDG_DATA_DIRS": str(self.folder / "system"),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_RUNTIME_DIR": str(self.folder / "run"),
            "XDG_STATE_HOME": str(self.folder / "state"),
            **environment,
        }
        self.environment.setdefault("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={self.folder}/no-bus")
        self.choices.parent.mkdir(mode=0o700)
        self.choices.write_text(
            json.dumps(
                {
                    "providers": {
                        f"crab.{label}": {"enabled": label in built_in} for label in BUILT_IN
                    }
                }
            )
        )
        self.choices.chmod(0o600)
        self._providers: list[UnixProvider] = []
        self.bridge: subprocess.Popen[str] | None = None

    # Providers

    def provider(self, name: str, *tools: dict[str, Any], **keys: str) -> UnixProvider:
        """A provider behind a socket, and its manifest."""
        provider = UnixProvider(self.folder / f"{name}.sock", *tools)
        self._providers.append(provider)
        self.declare(name, Transport="unix", Socket=str(provider.path), **keys)
        return provider

    def declare(self, name: str, folder: Path | None = None, **keys: str) -> Path:
        """Writes a manifest beside its place and renames it into it."""
        text = "[CETP Provider]\n" + "".join(f"{key}={value}\n" for key, value in keys.items())
        return self.write((folder or self.manifests) / f"{name}.ini", text)

    @staticmethod
    def write(path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.parent / f".{path.name}.new"
        beside.write_text(text)
        return beside.rename(path)

    def undeclare(self, name: str) -> None:
        (self.manifests / f"{name}.ini").unlink()

    # The bridge

    def start(
        self,
        gateway: Gateway,
        token: str,
        via: tuple[str, int] | None = None,
        prefix: tuple[str, ...] = (),
    ) -> None:
        """Starts the bridge and waits until it is connected; `via` another address than the
        gateway's. `prefix` are words that become the bridge by exec()."""
        host, port = via or gateway.public
        address = f"ws://{host}:{port}"
        self._log = open(self.folder / "bridge.log", "ab")  # noqa: SIM115: closed in end()
        self.bridge = subprocess.Popen(
            [*prefix, program(), "bridge", "run", "--gateway", address, "--name", "desk"],
            env={**self.environment, "CRAB_TOKEN": token},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._log,
            start_new_session=True,
        )
        eventually(
            lambda: self.status_or_none() and self.status()["link"]["connected"],
            "the bridge is connected",
            15,
        )

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Ends the bridge and returns its exit status."""
        self.bridge.send_signal(how)
        status = self.bridge.wait(15)
        self._log.close()
        self.bridge = None
        return status

    def log(self) -> str:
        path = self.folder / "bridge.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def crab(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs `crab bridge …` as this user."""
        return subprocess.run(
            [program(), "bridge", *words],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def status(self) -> Mapping[str, Any]:
        done = self.crab("status", "-o", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def status_or_none(self) -> Mapping[str, Any] | None:
        done = self.crab("status", "-o", "json")
        return json.loads(done.stdout) if done.returncode == 0 else None

    def apps(self) -> list[Mapping[str, Any]]:
        """The providers that are not inside the bridge."""
        return [
            entry for entry in self.status()["providers"] if not entry["id"].startswith("crab.")
        ]

    def provider_status(self, name: str) -> Mapping[str, Any]:
        return next((entry for entry in self.status()["providers"] if entry["id"] == name), {})

    def wait_state(self, name: str, state: str, limit: float = 5.0) -> None:
        eventually(
            lambda: self.provider_status(name).get("state") == state, f"{name} is {state}", limit
        )

    def close(self, keep: bool = False) -> None:
        """Ends everything; the folder is kept and the log shown if wanted."""
        if self.bridge:
            self.end(signal.SIGKILL)
        for provider in self._providers:
            provider.stop()
        if keep:
            print(f"kept: {self.folder}\n{self.log()[-4000:]}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
