"""`listen.path_prefix`: every route of the public listener is below it, and nowhere else
(docs/protocols/clawseed.md, section 1)."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from support.case import GatewayCase
from support.device import tool
from support.rtp import call_request
from support.websocket import WebSocket

PREFIX = "/home/crab"

NO_ROUTE = "no such path"
# What the document has to speak of, so that nothing is left out unseen.
PARTS = (
    "/health",
    "/openapi.json",
    "/metrics",
    "/pair",
    "/device/challenge",
    "/device/none",
    "/device/push",
    "/console/none",
    "/console/session",
    "/console/api/",
    "/api/agents",
    "/api/artifacts",
    "/api/sessions/none/attachments",
    "/v1/tools/call",
    "/v1/artifacts",
    "/webhook",
    "/ws/chat",
    "/mcp",
    "/mcp/none",
    "/.well-known/oauth-protected-resource",
)


class PathPrefixTest(GatewayCase):
    CONFIG = {
        "listen": {"path_prefix": PREFIX, "console": "operators"},
        "mcp": {
            "scopes": {"kitchen": {"tools": {"allow": ["list_devices"]}}},
            "oauth": {
                "issuer": "https://login.example",
                "resource": f"https://gw.example{PREFIX}/mcp",
            },
        },
    }

    def operations(self) -> list[tuple[str, str]]:
        """Method and path of everything that this listener says it has."""
        answer = self.gateway.fetch("GET", PREFIX + "/openapi.json")
        document = answer.json()
        self.assertEqual([server["url"] for server in document["servers"]], [PREFIX])
        return [
            (method.upper(), re.sub("{[^}]*}", "none", path))
            for path, operations in document["paths"].items()
            for method in operations
            if method != "parameters"
        ]

    def test_every_route_is_below_the_prefix_and_nowhere_else(self) -> None:
        token = self.gateway.pair("operator", ("operator", "device", "caller"))
        operations = self.operations()
        for known in PARTS:
            self.assertTrue([path for _, path in operations if path.startswith(known)], known)
        for method, path in operations:
            with self.subTest(route=f"{method} {path}"):
                body = b"{}" if method in ("POST", "PUT", "PATCH") else None
                asked = "GET" if path == "/metrics" else "OPTIONS"  # it is hidden from the rest
                below = self.gateway.fetch(asked, PREFIX + path, token)
                there = (200,) if asked == "GET" else (204, 401)  # 401: by signing in only
                self.assertIn(below.status, there, below.body)
                self.assertIn(method, below.headers.get("allow", method).split(", "))
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

    def test_redirects_lead_below_the_prefix(self) -> None:
        for path in ("/device", "/console"):
            answer = self.gateway.fetch("GET", PREFIX + path)
            self.assertEqual(answer.status, 308, path)
            self.assertIn(answer.headers["location"], (f"{PREFIX}{path}/", f"{path[1:]}/"))
            self.assertEqual(self.gateway.fetch("GET", f"{PREFIX}{path}/").status, 200)

    def test_a_challenge_of_mcp_leads_below_the_prefix(self) -> None:
        answer = self.gateway.fetch("POST", PREFIX + "/mcp", body=b"{}")
        self.assertEqual(answer.status, 401)
        place = re.search(
            'resource_metadata="https://gw.example([^"]*)"', answer.headers["www-authenticate"]
        )
        assert place is not None, answer.headers
        self.assertTrue(place[1].startswith(PREFIX + "/"), place[1])
        metadata = self.gateway.fetch("GET", place[1])
        self.assertEqual(metadata.json()["resource"], f"https://gw.example{PREFIX}/mcp")

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
