"""docs/protocols/clawseed.md, section 8: the REST surface (checklist 43, 64, 65, 66, 68 as far as
no model is needed)."""

from __future__ import annotations

import re
import uuid
from typing import Any

from support.case import GatewayCase
from support.device import tool
from support.http import Response

UTC_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


class RestCase(GatewayCase):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.token = cls.gateway.pair("rest")

    def ask(
        self, method: str, target: str, body: Any = None, token: str | None = None, **headers: str
    ) -> Response:
        return self.gateway.fetch(
            method,
            target,
            token or self.token,
            {name.replace("_", "-"): value for name, value in headers.items()},
            body,
        )

    def assert_error(self, response: Response, status: int) -> dict[str, Any]:
        body = response.json()
        self.assertEqual(response.status, status, body)
        self.assertLessEqual({"error", "code"}, body.keys())
        return body


class OpenRoutesTest(RestCase):
    def test_clawseed_64_health_needs_no_token(self) -> None:
        response = self.gateway.fetch("GET", "/health")
        self.assertEqual(response.status, 200)
        self.assertEqual(
            response.json(),
            {"status": "ok", "paired": True, "require_pairing": True, "runtime": {}},
        )

    def test_clawseed_64_a_wrong_or_missing_token_is_401_on_every_route(self) -> None:
        routes = [
            ("GET", "/api/tools"),
            ("GET", "/api/status"),
            ("GET", "/api/sessions"),
            ("GET", "/api/sessions/running"),
            ("GET", "/api/sessions/x/messages"),
            ("GET", "/api/sessions/x/state"),
            ("PUT", "/api/sessions/x"),
            ("DELETE", "/api/sessions/x"),
            ("POST", "/api/sessions/x/abort"),
            ("POST", "/webhook"),
            ("GET", "/v1/tools"),
        ]
        for method, target in routes:
            for token in (None, "0" * 64):
                with self.subTest(method=method, target=target, token=token):
                    self.assertEqual(
                        self.gateway.fetch(
                            method, target, token, body={} if method != "GET" else None
                        ).status,
                        401,
                    )

    def test_a_token_in_the_query_does_not_count(self) -> None:
        self.assert_error(self.gateway.fetch("GET", f"/api/tools?token={self.token}"), 401)

    def test_clawseed_64_unknown_paths_are_404_with_json(self) -> None:
        for target in (
            "/",
            "/api",
            "/api/",
            "/api/config",
            "/api/skills",
            "/api/skills/x",
            "/api/personas",
            "/api/personality",
            "/api/provider/models",
            "/api/users/me",
            "/api/cron",
            "/api/memory",
            "/api/doctor",
            "/pair/code",
            "/admin/x",
            "/hooks/x",
            "/metrics",
            "/ws/nodes",
            "/health/",
            "/api/tools/",
            "/api//tools",
            "/API/tools",
            "/api/%74ools",
            "/v1/identity",
            "/v1/admin/devices",
            "/v1/pairings",
            "/v1/events",
        ):
            with self.subTest(target):
                self.assert_error(self.ask("GET", target), 404)

    def test_head_answers_like_get_without_a_body(self) -> None:
        for target in (
            "/health",
            "/healthz",
            "/readyz",
            "/api/tools",
            "/api/sessions",
            "/api/sessions/x/messages",
            "/nowhere",
        ):
            with self.subTest(target):
                got, head = self.ask("GET", target), self.ask("HEAD", target)
                self.assertEqual(
                    (head.status, head.headers["content-type"], head.body),
                    (got.status, got.headers["content-type"], b""),
                )
                self.assertEqual(head.headers["content-length"], got.headers["content-length"])
        self.assertEqual(self.ask("HEAD", "/webhook").status, 405)

    def test_other_methods_are_405_with_allow(self) -> None:
        for method, target, allow in (
            ("DELETE", "/health", "GET"),
            ("POST", "/api/tools", "GET"),
            ("GET", "/webhook", "POST"),
            ("GET", "/api/sessions/x/abort", "POST"),
        ):
            with self.subTest(target):
                response = self.ask(method, target)
                self.assert_error(response, 405)
                self.assertIn(allow, response.headers["allow"])


class ToolsRouteTest(RestCase):
    def test_clawseed_65_elements_have_their_types_and_are_sorted(self) -> None:
        device = self.open(self.new_token("kitchen"))
        names = [self.unique(name) for name in ("b", "a", "C")]
        device.register(
            *(tool(name, {"type": "object", "title": name}, description=name) for name in names)
        )
        body = self.ask("GET", "/api/tools").json()
        self.assertEqual(body.keys(), {"tools"})
        listed = [element["name"] for element in body["tools"]]
        self.assertEqual(listed, sorted(listed))
        for element in body["tools"]:
            self.assertEqual(
                element.keys(),
                {"name", "description", "parameters", "enabled", "source_type", "source"},
            )
            self.assertIsInstance(element["description"], str)
            self.assertIsInstance(element["parameters"], dict)
            self.assertIs(element["enabled"], True)
            self.assertIn(element["source_type"], ("builtin", "mcp", "remote"))
        mine = {element["name"]: element for element in body["tools"] if element["name"] in names}
        self.assertEqual(mine.keys(), set(names))
        for name, element in mine.items():
            self.assertEqual(
                (element["description"], element["parameters"]["title"], element["source"]),
                (name, name, self.slug),
            )
            self.assertNotIn(device.session_id, str(element))

    def test_status_has_its_members_with_a_model_that_is_never_null(self) -> None:
        body = self.ask("GET", "/api/status").json()
        self.assertLessEqual(
            {
                "provider",
                "model",
                "temperature",
                "uptime_seconds",
                "gateway_port",
                "paired",
                "memory",
                "channels",
                "health",
            },
            body.keys(),
        )
        self.assertEqual(body["model"], "")
        for number in (body["temperature"], body["memory"]["count"], body["uptime_seconds"]):
            self.assertIsInstance(number, int | float)
        self.assertEqual(body["gateway_port"], self.gateway.public[1])
        self.assertNotIn(None, body.values())


class SessionsTest(RestCase):
    def chat(self) -> str:
        """A chat session of this token that has a name."""
        device = self.open(self.token, query={"name": "Kitchen"})
        return device.session_id

    def find(self, session_id: str, target: str = "/api/sessions") -> dict[str, Any] | None:
        sessions = self.ask("GET", target).json()["sessions"]
        return next((session for session in sessions if session["session_id"] == session_id), None)

    def test_clawseed_66_sessions_have_their_shape_and_times_in_utc(self) -> None:
        found = self.find(self.chat())
        self.assertIsNotNone(found)
        self.assertEqual(
            found.keys(), {"session_id", "created_at", "last_activity", "message_count", "name"}
        )
        self.assertEqual((found["name"], found["message_count"]), ("Kitchen", 0))
        for name in ("created_at", "last_activity"):
            self.assertRegex(found[name], UTC_TIME)

    def test_clawseed_66_messages_and_state_have_their_shapes(self) -> None:
        session = self.chat()
        body = self.ask("GET", f"/api/sessions/{session}/messages").json()
        self.assertEqual((body["session_id"], body["messages"]), (session, []))
        self.assertIsInstance(body["session_persistence"], bool)
        self.assertEqual(
            self.ask("GET", f"/api/sessions/{session}/state").json(),
            {"session_id": session, "state": "idle"},
        )
        self.assertEqual(self.ask("GET", "/api/sessions/running").json(), {"sessions": []})

    def test_clawseed_66_names_are_in_any_script_trimmed_and_of_128_characters(self) -> None:
        session = self.chat()
        for given, kept in (("分身", "分身"), ("  Küche \n", "Küche"), ("身" * 128, "身" * 128)):
            self.assertEqual(
                self.ask("PUT", f"/api/sessions/{session}", {"name": given}).json(),
                {"session_id": session, "name": kept},
            )
            self.assertEqual(self.find(session)["name"], kept)
        for bad in ("身" * 129, "a\nb", "a\u0007b", "a\u0085b", "a\u202eb", "   "):
            self.assertEqual(
                self.ask("PUT", f"/api/sessions/{session}", {"name": bad}).status, 400, bad
            )

    def test_clawseed_66_a_session_is_renamed_and_deleted(self) -> None:
        session = self.chat()
        self.assertEqual(
            self.ask("PUT", f"/api/sessions/{session}", {"name": "Cellar"}).json(),
            {"session_id": session, "name": "Cellar"},
        )
        self.assertEqual(self.find(session)["name"], "Cellar")
        self.assertEqual(
            self.ask("DELETE", f"/api/sessions/{session}").json(),
            {"deleted": True, "session_id": session},
        )
        self.assertIsNone(self.find(session))

    def test_clawseed_66_unknown_sessions_and_those_of_others_are_the_same_404(self) -> None:
        foreign = self.open().session_id
        for session in (str(uuid.uuid4()), foreign):
            for method, suffix, body in (
                ("GET", "/messages", None),
                ("GET", "/state", None),
                ("PUT", "", {"name": "x"}),
                ("DELETE", "", None),
            ):
                with self.subTest(method + suffix):
                    self.assert_error(
                        self.ask(method, f"/api/sessions/{session}{suffix}", body), 404
                    )
        self.assertIsNone(self.find(foreign))

    def test_clawseed_66_a_broken_body_is_400(self) -> None:
        session = self.chat()
        for body in (b"{", b"[]", b"{}", b'{"name":5}', b'{"name":""}'):
            with self.subTest(body):
                self.assert_error(self.ask("PUT", f"/api/sessions/{session}", body), 400)

    def test_clawseed_43_abort_is_200_with_a_status_for_unknown_sessions_too(self) -> None:
        for session in (self.chat(), str(uuid.uuid4()), self.open().session_id):
            for body in ({}, None, b"not json"):
                response = self.ask("POST", f"/api/sessions/{session}/abort", body)
                self.assertEqual(
                    (response.status, response.json()), (200, {"status": "no_active_response"})
                )


class WebhookTest(RestCase):
    def test_clawseed_68_without_a_model_a_webhook_turn_is_an_error_with_a_code(self) -> None:
        response = self.ask("POST", "/webhook", {"message": "hello"})
        self.assertGreaterEqual(response.status, 500)
        self.assertLessEqual({"error", "code"}, response.json().keys())

    def test_clawseed_68_a_broken_body_is_400(self) -> None:
        for body in (b"", b"{", b"[]", b"{}", b'{"message":5}', b'{"message":""}'):
            with self.subTest(body):
                self.assert_error(self.ask("POST", "/webhook", body), 400)


class BodyLimitTest(RestCase):
    CONFIG = {"limits": {"request_body_bytes": 2048}}

    def test_a_body_beyond_the_limit_is_413(self) -> None:
        session = self.open(self.token).session_id
        self.assert_error(self.ask("PUT", f"/api/sessions/{session}", {"name": "x" * 3000}), 413)
