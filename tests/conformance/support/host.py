"""`crab host memory|cron` as a process of its own, on a Unix socket or behind mutual TLS."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import ssl
import subprocess
from pathlib import Path
from typing import Any

from . import rtp
from .gateway import program
from .http import Response, fetch, request_bytes
from .wait import PATIENCE


class Host:
    """A built-in host on `<folder>/<kind>.sock`, with its state below the folder."""

    def __init__(self, folder: Path, kind: str, *flags: str) -> None:
        self.folder, self.kind, self.socket, self.flags = (
            folder,
            kind,
            folder / f"{kind}.sock",
            flags,
        )
        self.start()

    def start(self) -> None:
        with open(self.folder / f"{self.kind}.log", "ab") as errors:
            self.process = subprocess.Popen(
                [
                    program(),
                    "host",
                    self.kind,
                    "--unix",
                    str(self.socket),
                    "--state",
                    str(self.folder / self.kind),
                    *self.flags,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        line = self.process.stdout.readline()
        assert (
            line == f"crab host ready name={self.kind} unix={self.socket}\n"
        ), f"not a ready line: {line!r}\n{self.log()}"

    def log(self) -> str:
        return (self.folder / f"{self.kind}.log").read_text(errors="replace")

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Ends the process and returns its exit status."""
        self.process.send_signal(how)
        status = self.process.wait(15)
        self.process.stdout.close()
        return status

    def fetch(self, method: str, target: str, body: Any = None) -> Response:
        return fetch(self.socket, method, target, None, body, timeout=PATIENCE)

    def call(self, tool: str, args: Any = None, **members: Any) -> dict[str, Any]:
        """The checked response to a call."""
        request = rtp.call_request(tool, args, **members)
        response = self.fetch("POST", "/v1/tools/call", request)
        assert response.status == 200, f"{response.status}: {response.body!r}"
        rtp.check_response(response.json(), request)
        return response.json()

    def result(self, tool: str, args: Any = None, **members: Any) -> dict[str, Any]:
        answer = self.call(tool, args, **members)
        assert answer["status"] == "ok", answer
        return answer["result"]

    def code(self, tool: str, args: Any = None, **members: Any) -> str:
        return self.call(tool, args, **members)["error"]["code"]

    def texts(self, query: str, **members: Any) -> list[str]:
        return [
            entry["text"]
            for entry in self.result("memory.query", {"query": query}, **members)["entries"]
        ]


class PairedHost(Host):
    """The same behind mutual TLS, for the gateway with `gateway_key`; it keeps its port when it is
    started again."""

    def __init__(
        self, folder: Path, kind: str, gateway_key: str, component_id: str, *flags: str
    ) -> None:
        self.gateway_key, self.component_id, self.port = gateway_key, component_id, 0
        super().__init__(folder, kind, *flags)

    def start(self) -> None:
        with open(self.folder / f"{self.kind}.log", "ab") as errors:
            self.process = subprocess.Popen(
                [
                    program(),
                    "host",
                    self.kind,
                    "--listen",
                    f"127.0.0.1:{self.port}",
                    "--id",
                    self.component_id,
                    "--gateway-key",
                    self.gateway_key,
                    "--state",
                    str(self.folder / self.kind),
                    *self.flags,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        key, ready = self.process.stdout.readline(), self.process.stdout.readline()
        assert key.startswith("remote_key=") and ready.startswith(
            f"crab host ready name={self.kind} listen=127.0.0.1:"
        ), f"{key!r} {ready!r}\n{self.log()}"
        self.key, self.port = key.strip().partition("=")[2], int(ready.strip().rpartition(":")[2])

    def pairings(self) -> int:
        """How many it has seen to their end."""
        return self.log().count("paired with the gateway")

    @property
    def endpoint(self) -> str:
        return f"wss://127.0.0.1:{self.port}/v1/pair"

    def connect(
        self,
        certificate: tuple[Path, Path] | None = None,
        newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
    ) -> ssl.SSLSocket:
        """A connection that shows this certificate (file, key file), and takes whatever the host
        shows."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode, context.maximum_version = (
            False,
            ssl.CERT_NONE,
            newest,
        )
        if certificate:
            context.load_cert_chain(*map(str, certificate))
        return context.wrap_socket(socket.create_connection(("127.0.0.1", self.port), PATIENCE))

    def shown(self) -> bytes:
        """The certificate that it shows, DER."""
        with self.connect() as link:
            return link.getpeercert(binary_form=True)

    def ask(
        self,
        link: ssl.SSLSocket,
        method: str,
        target: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
    ) -> Response:
        """One request on a connection that may be kept."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        link.sendall(request_bytes(method, target, headers, data))
        answer = http.client.HTTPResponse(link, method=method)
        answer.begin()
        return Response(
            answer.status,
            answer.reason,
            {name.lower(): value for name, value in answer.getheaders()},
            answer.read(),
        )

    def fetch(
        self,
        method: str,
        target: str,
        body: Any = None,
        certificate: tuple[Path, Path] | None = None,
    ) -> Response:
        with self.connect(certificate) as link:
            return self.ask(link, method, target, body)
