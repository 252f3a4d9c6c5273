"""`listen.path_prefix`: every route of the public listener is below it, and nowhere else
(docs/protocols/clawseed.md, section 1)."""

from __future__ import annotations

import base64
import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from support.case import GatewayCase
from support.device import tool
from support.rtp import call_request
from support.websocket import WebSocket

PREFIX = "/home/crab"

# Method, path below the prefix, and the status that tells that the route is there: with a token of
# a device that is also a caller.
ROUTES: tuple[tuple[str, str, int], ...] = (
    ("GET", "/health", 200),
    ("GET", "/healthz", 200),
    ("GET", "/readyz", 200),
    ("POST", "/pair", 404),
    ("POST", "/device/challenge", 200),
    ("POST", "/device/token", 400),
    ("GET", "/api/tools", 200),
    ("GET", "/api/status", 200),
    ("GET", "/api/sessions", 200),
    ("GET", "/api/sessions/running", 200),
    ("GET", "/api/sessions/none/messages", 404),
    ("GET", "/api/sessions/none/state", 404),
    ("POST", "/api/sessions/none/abort", 200),
    ("PUT", "/api/sessions/none", 404),
    ("DELETE", "/api/sessions/none", 404),
    ("POST", "/api/artifacts", 400),
    ("POST", "/webhook", 400),
    ("GET", "/v1/tools", 200),
    ("POST", "/v1/tools/call", 200),
    ("POST", "/v1/tools/cancel", 400),
    ("GET", "/v1/artifacts", 200),
    ("GET", "/v1/artifacts/none", 404),
    ("GET", "/device", 308),
    ("GET", "/device/", 200),
    ("GET", "/device/sw.js", 200),
    ("GET", "/device/crab.webmanifest", 200),
    ("GET", "/ws/chat", 426),
)
NO_ROUTE = "no such path"


class PathPrefixTest(GatewayCase):
    CONFIG = {"listen": {"path_prefix": PREFIX}}

    def test_every_route_is_below_the_prefix_and_nowhere_else(self) -> None:
        token = self.gateway.pair("phone")
        for method, path, status in ROUTES:
            with self.subTest(route=f"{method} {path}"):
                body = b"{}" if method in ("POST", "PUT") else None
                below = self.gateway.fetch(method, PREFIX + path, token, body=body)
                self.assertEqual(below.status, status, below.body)
                self.assertNotIn(NO_ROUTE, below.body.decode(errors="replace"))
                for elsewhere in (
                    path,
                    "/home" + path,
                    PREFIX[:-1] + path,
                    PREFIX + "b" + path,
                    PREFIX + PREFIX + path,
                ):
                    answer = self.gateway.fetch(method, elsewhere, token, body=body)
                    self.assertEqual(
                        (answer.status, NO_ROUTE in answer.body.decode(errors="replace")),
                        (404, True),
                        (elsewhere, answer.body),
                    )

    def test_metrics_are_there_for_operators(self) -> None:
        token = self.gateway.pair("operator", ("operator",))
        self.assertEqual(
            [
                self.gateway.fetch("GET", path, token).status
                for path in (PREFIX + "/metrics", "/metrics")
            ],
            [200, 404],
        )

    def test_a_device_is_called_and_uploads_below_the_prefix(self) -> None:
        token = self.gateway.pair("camera")
        socket = WebSocket(
            self.gateway.public, f"{PREFIX}/ws/chat", {"Authorization": f"Bearer {token}"}
        )
        self.addCleanup(socket.reset)
        self.assertEqual(json.loads(socket.receive_text())["type"], "session_start")
        socket.send_text(json.dumps({"type": "connect", "capabilities": ["artifacts"]}))
        self.assertEqual(json.loads(socket.receive_text())["type"], "connected")
        socket.send_text(json.dumps({"type": "register_tools", "tools": [tool("look")]}))
        self.assertEqual(json.loads(socket.receive_text())["registered"], 1)
        call = ThreadPoolExecutor(1).submit(
            self.fetch, "POST", "/v1/tools/call", self.gateway.caller_token(), call_request("look")
        )
        request = json.loads(socket.receive_text())
        picture = b"a picture" * 100
        sha256 = base64.b64encode(hashlib.sha256(picture).digest()).decode()
        digest = {"Content-Type": "image/jpeg", "Content-Digest": f"sha-256=:{sha256}:"}
        stored = self.gateway.fetch(
            "POST", f"{PREFIX}/api/artifacts?call_id={request['id']}", token, digest, picture
        )
        self.assertEqual(stored.status, 201, stored.body)
        socket.send_text(
            json.dumps(
                {"type": "tool_result", "id": request["id"], "artifact": stored.json()["artifact"]}
            )
        )
        answer = call.result(20).json()
        href = answer["result"]["artifact"]["href"]
        self.assertEqual(
            self.gateway.fetch("GET", PREFIX + href, self.gateway.caller_token()).body, picture
        )

    def fetch(self, method: str, path: str, token: str, body: Any) -> Any:
        return self.gateway.fetch(
            method,
            PREFIX + path,
            token,
            {"Content-Type": "application/json"},
            json.dumps(body).encode(),
        )

    def test_what_is_too_large_is_refused_in_the_shape_of_the_route(self) -> None:
        answer = self.fetch(
            "POST", "/v1/tools/call", self.gateway.caller_token(), call_request("x" * (8 << 20))
        )
        self.assertEqual(answer.status, 413)
        self.assertEqual(answer.json()["error"]["code"], "INVALID_ARGS", "the response of a call")
