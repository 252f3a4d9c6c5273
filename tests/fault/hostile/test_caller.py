"""A caller with a good token: requests that are maximal, repeated, unfinished, slow or malformed,
streams that are not read, floods of cancels."""

from __future__ import annotations

import itertools
import json
from typing import Any

from hostile_case import HostileCase
from support import flood
from support.device import tool
from support.http import HttpConnection, request_bytes
from support.rtp import call_request
from support.stream import Stream

MIB = 1 << 20
# : A schema of a few bytes whose check takes time exponential in the depth of what it checks, for
# who does it naively.
TWINS = {
    "type": "object",
    "$defs": {
        "t": {
            "anyOf": [
                {"type": "object", "properties": {"a": {"$ref": "#/$defs/t"}}, "required": ["a"]},
                {"type": "object", "properties": {"a": {"$ref": "#/$defs/t"}}, "required": ["a"]},
                {"const": 1},
            ]
        }
    },
    "properties": {"a": {"$ref": "#/$defs/t"}},
}


class CrowdTest(HostileCase):
    """On listeners with few places, which the caller's connections would fill."""

    CONFIG = {
        "listen": {"max_connections": 64},
        "grpc": {"listen": "127.0.0.1:0", "max_connections": 64},
    }

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        host, _, port = cls.gateway.grpc.rpartition(":")
        cls.grpc = (host, int(port))

    def setUp(self) -> None:
        super().setUp()
        # another for each test: calls that their caller left are still counted as its own
        self.token = self.gateway.pair(self.unique("attacker"), ("caller",))

    def test_idle_connections(self) -> None:
        http, grpc = flood.idle(self.token), flood.idle(self.token, "h2")
        self.attack(
            lambda: self.hold(http(self.gateway.public)),
            lambda: self.hold(grpc(self.grpc)),
        )

    def test_busy_connections(self) -> None:
        device = self.open()
        name = self.unique("never")
        device.register(tool(name, timeout_ms=60_000))

        def call() -> bytes:
            body = json.dumps(call_request(name, {}, timeout_ms=60_000)).encode()
            head = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            return request_bytes("POST", "/v1/tools/call", head, body)

        http = flood.busy("call", call)
        grpc = flood.busy("grpc", lambda: flood.unfinished_call(self.token))
        self.attack(
            lambda: self.hold(http(self.gateway.public)),
            lambda: self.hold(grpc(self.grpc)),
        )


class CallerTest(HostileCase):
    CONFIG = {"limits": {"request_body_bytes": MIB}}

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.token = cls.gateway.pair("attacker", ("caller",))
        cls.numbers = itertools.count()

    def setUp(self) -> None:
        super().setUp()
        self.device = self.open()
        self.tool = self.unique("slow")
        self.twins = self.unique("twins")
        self.device.register(tool(self.tool, timeout_ms=60_000), tool(self.twins, TWINS))

    def head(self, target: str = "/v1/tools/call", **fields: str) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            **fields,
        }

    def ask(
        self, body: Any, target: str = "/v1/tools/call", method: str = "POST", **fields: str
    ) -> int:
        with HttpConnection(self.gateway.public, 20.0) as connection:
            return connection.request(method, target, self.head(**fields), body).status

    def leave(self, body: bytes, target: str = "/v1/tools/call", **fields: str) -> Stream:
        stream = self.connect()
        stream.send(request_bytes("POST", target, self.head(**fields), body))
        return stream

    def bytes_of(self, name: str, args: Any = None, **members: Any) -> bytes:
        return json.dumps(call_request(name, args, **members)).encode()

    def test_requests_at_every_limit(self) -> None:
        big = self.bytes_of(self.tool, {"text": "x" * (MIB - 4096)}, timeout_ms=50)
        deep = b'{"a":' * 5000 + b"1" + b"}" * 5000
        many = json.dumps({f"m{n}": n for n in range(50_000)}).encode()
        self.attack(lambda: self.ask(big), lambda: self.ask(deep), lambda: self.ask(many))

    def test_arguments_that_are_expensive_to_check(self) -> None:
        args: dict[str, Any] = {"b": 2}
        for _ in range(60):
            args = {"a": args}
        self.attack(lambda: self.ask(self.bytes_of(self.twins, args, timeout_ms=1000)), workers=4)

    def test_bodies_that_do_not_end(self) -> None:
        def part() -> None:
            stream = self.connect()
            stream.send(
                request_bytes("POST", "/v1/tools/call", self.head(**{"Content-Length": str(MIB)}))
            )
            stream.send(b"x" * (MIB - 1))

        def chunks() -> None:
            stream = self.connect()
            stream.send(
                request_bytes("POST", "/webhook", self.head(**{"Transfer-Encoding": "chunked"}))
            )
            stream.send((b"8000\r\n" + b"x" * 32768 + b"\r\n") * 31)

        self.attack(part, chunks)

    def test_calls_that_nobody_waits_for(self) -> None:
        self.attack(
            lambda: self.leave(self.bytes_of(self.tool, {}, timeout_ms=60_000)),
            lambda: self.leave(
                self.bytes_of(self.tool, {}, timeout_ms=60_000), Accept="text/event-stream"
            ),
        )

    def test_joiners_of_one_call(self) -> None:
        self.device.serve({self.tool: lambda _: None})
        body = self.bytes_of(
            self.tool, {}, call_id="hostile-joined", idempotency_key="joined", timeout_ms=60_000
        )
        self.attack(lambda: self.leave(body), workers=4)

    def test_floods_of_small_requests(self) -> None:
        def keyed() -> None:
            self.ask(call_request("no_such_tool", {}, idempotency_key=f"key-{next(self.numbers)}"))

        def cancel() -> None:
            self.ask(
                {"version": "v1", "tenant_id": "default", "call_id": f"none-{next(self.numbers)}"},
                "/v1/tools/cancel",
            )

        self.attack(
            keyed,
            cancel,
            lambda: self.ask(b"{"),
            lambda: self.ask(None, "/v1/tools", "GET"),
            lambda: self.ask(None, "/no/such/path", "GET"),
        )

    def test_pipelines_of_requests_whose_answers_are_not_read(self) -> None:
        one = request_bytes("GET", "/v1/tools", self.head())

        def pipeline() -> None:
            stream = self.hold(Stream(self.gateway.public, 1.0, receive_buffer=4096))
            stream.send(one * 2000)

        self.attack(pipeline)

    def test_malformed_requests(self) -> None:
        bodies = [
            b"",
            b"[]",
            b"null",
            b'"x"',
            b"{}",
            b'{"version":"v9"}',
            b"\xff\xfe",
            b'{"a":1,"a":2}',
            b'{"args":1e999}',
            b"[" * 100_000,
        ]
        self.attack(*(lambda body=body: self.ask(body) for body in bodies), workers=1)
