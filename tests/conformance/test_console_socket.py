"""WebSockets through `crab console`, and what the audit log has of its sessions."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlencode

from test_console import STATUS, ConsoleCase

from support import rtp
from support.case import GatewayCase
from support.console import Console
from support.gateway import Gateway
from support.wait import PATIENCE, eventually
from support.websocket import Closed, Refused, WebSocket

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from scripted_model import Answer, ScriptedModel  # noqa: E402


class SocketCase(ConsoleCase):
    model: ClassVar[ScriptedModel]

    @classmethod
    def setUpClass(cls) -> None:
        cls.model = cls.enterClassContext(ScriptedModel())
        cls.CONFIG = {"models": [{"model": "parrot", "provider": "scripted", "url": cls.model.url}]}
        super().setUpClass()

    def setUp(self) -> None:
        self.console.press_enter()
        self.console.sign_in()

    def open_chat(self, **headers: str) -> WebSocket:
        chat = self.console.websocket(self.console.ticket(), **headers)
        self.addCleanup(chat.stream.close)
        self.assertEqual(json.loads(chat.receive_text())["type"], "session_start")
        return chat

    def turn(self, chat: WebSocket, content: str) -> dict[str, dict[str, Any]]:
        """The last frame of each type of one turn."""
        chat.send_text(json.dumps({"type": "message", "content": content}))
        return self.rest_of_turn(chat)

    def rest_of_turn(self, chat: WebSocket) -> dict[str, dict[str, Any]]:
        frames: dict[str, dict[str, Any]] = {}
        while "agent_end" not in frames:
            frame = json.loads(chat.receive_text())
            frames[frame["type"]] = frame
        return frames

    def assert_refused_socket(self, status: int, *words: Any, **headers: str) -> None:
        with self.assertRaises(Refused) as refused:
            self.console.websocket(*words, **headers)
        self.assertEqual(refused.exception.response.status, status, (words, headers))


class ChatSocketTest(SocketCase):
    def test_a_chat_goes_through_and_its_calls_are_the_operators(self) -> None:
        chat = self.open_chat()
        self.assertRegex(
            chat.response.headers["sec-websocket-protocol"], r"^crab-ticket\.[\w-]{43}$"
        )
        self.model.script(Answer("It is 21 degrees."))
        self.assertEqual(
            self.turn(chat, "Is it warm?")["done"]["full_response"], "It is 21 degrees."
        )
        self.assertEqual(chat.close().code, 1000)

    def test_a_ticket_is_good_once_and_in_its_own_session_only(self) -> None:
        ticket = self.console.ticket()
        self.console.websocket(ticket).stream.close()
        self.assert_refused_socket(401, ticket)
        for wrong in ("x" * 43, "", None, self.console.key):
            self.assert_refused_socket(401, wrong)
        ticket, cookie = self.console.ticket(), self.console.cookie
        self.assert_refused_socket(401, ticket, Cookie="")
        self.console.press_enter()
        self.console.sign_in()
        self.assert_refused_socket(401, ticket)
        self.console.websocket(ticket, Cookie=cookie).stream.close()

    def test_other_pages_open_none_and_use_up_no_ticket(self) -> None:
        ticket, port = self.console.ticket(), self.console.port
        for headers in (
            {"Origin": ""},
            {"Origin": "null"},
            {"Origin": "https://evil.example"},
            {"Origin": f"http://127.0.0.1:{port + 1}"},
            {"Origin": f"http://localhost:{port}"},
            {"Host": f"evil.example:{port}"},
        ):
            self.assert_refused_socket(403, ticket, **headers)
        self.console.websocket(ticket).stream.close()

    def test_there_is_one_websocket_and_no_other(self) -> None:
        for path in ("api/v1/pairings/ws", "api/ws/nothing", "api/v1/admin/status", "ws/chat", ""):
            self.assert_refused_socket(404, self.console.ticket(), path)
        head = {**self.console.halves(), "Upgrade": "websocket", "Connection": "Upgrade"}
        self.assertGreaterEqual(self.console.send("GET", STATUS, head).status, 400)
        bare = {"Upgrade": "websocket", "Connection": "Upgrade"}
        self.assertGreaterEqual(self.console.send("GET", STATUS, bare).status, 400)

    def test_it_ends_with_its_session(self) -> None:
        chat = self.open_chat()
        self.assertEqual(self.console.request("DELETE", "session").status, 204)
        self.assertEqual(chat.wait_closed(PATIENCE).code, 4401)

    def test_a_message_that_is_too_large_ends_it(self) -> None:
        chat = self.open_chat()
        with self.assertRaises(Closed) as closed:
            chat.send_text("x" * (9 << 20))
            chat.receive_text()
        self.assertIn(closed.exception.code, (1006, 1009))
        self.assertEqual(self.console.request("GET", STATUS).status, 200)

    def test_a_reader_that_is_slow_gets_all_and_the_console_holds_little(self) -> None:
        text = "y" * 900_000
        chat = self.open_chat()
        self.model.script(Answer("warm"))
        self.turn(chat, "warm up")
        self.console.forget_peak()
        before = self.console.peak_bytes()
        self.model.script(*[Answer(text, piece=20_000)] * 4)
        for _ in range(4):
            chat.send_text(json.dumps({"type": "message", "content": "much"}))
        eventually(lambda: len(self.model.requests) == 4, "nobody has read anything", 20)
        # Unread, the four turns have more than 7 MB.
        self.assertLess(self.console.peak_bytes() - before, 5 << 20)
        for _ in range(4):
            self.assertEqual(self.rest_of_turn(chat)["done"]["full_response"], text)

    def test_a_gateway_that_is_away_is_told(self) -> None:
        with Gateway({}) as gateway, Console(gateway.admin) as console:
            console.sign_in()
            ticket = console.ticket()
            gateway.stop()
            with console.websocket(ticket) as chat:
                self.assertEqual(chat.wait_closed(PATIENCE).code, 1013)
            gateway.start()


class ReadOnlySocketTest(ConsoleCase):
    OPTIONS = ("--read-only",)

    def test_a8_no_websocket_is_opened(self) -> None:
        self.console.sign_in()
        ticket = self.console.ticket()
        with self.assertRaises(Refused) as refused:
            self.console.websocket(ticket)
        self.assertEqual(refused.exception.response.status, 403)


class SessionRecordsTest(GatewayCase):
    def records(self, **query: str) -> list[dict[str, Any]]:
        """The oldest first."""
        target = f"/v1/admin/audit?{urlencode(query)}"
        return self.gateway.admin_request("GET", target).json()["records"][::-1]

    def sessions(self) -> list[tuple[Any, ...]]:
        found = self.records(event="console.session.*")
        return [(it["event"].split(".")[-1], it["session"], it.get("why")) for it in found]

    def test_a23_sign_ins_and_ends_and_changes_say_console(self) -> None:
        with Console(self.gateway.admin) as console:
            console.send("POST", "session", None, {"code": "x" * 43})
            console.sign_in()
            eventually(lambda: len(self.sessions()) == 2, "both are recorded")
            self.assertEqual(sorted(self.sessions()), [("opened", 1, None), ("refused", 0, None)])
            body = {"name": "from-console", "roles": ["caller"], "token": True}
            answer = console.request("POST", "api/v1/admin/devices/pair", body)
            self.assertEqual(answer.status, 200, answer.body)
            (record,) = self.records(event="admin.change", front="console")
            self.assertRegex(record["principal"], r"^local/\d+$")
            self.assertEqual(
                (record["method"], record["path"], record["about"], record["status"]),
                ("POST", "/v1/admin/devices/pair", {"name": "from-console"}, "ok"),
            )
            self.assertNotIn(answer.json()["token"], json.dumps(record))
            self.assertEqual(console.request("DELETE", "session").status, 204)
            console.press_enter()
            console.sign_in()
        # An end is noticed a moment later than a beginning.
        self.assertCountEqual(
            self.sessions()[2:],
            [("ended", 1, "signed_out"), ("opened", 2, None), ("ended", 2, "stopped")],
        )
        principals = {it["principal"] for it in self.records(event="console.session.*")}
        self.assertEqual(principals, {record["principal"]})

    def test_a_call_through_the_console_says_so_and_nobody_else_may(self) -> None:
        with Console(self.gateway.admin) as console:
            console.sign_in()
            through = rtp.call_request("list_devices", call_id="through")
            console.request("POST", "api/v1/tools/call", through)
        self.gateway.fetch(
            "POST",
            "/v1/tools/call",
            self.gateway.caller_token(),
            {"Crab-Front": "console"},
            rtp.call_request("list_devices", call_id="direct"),
        )
        eventually(lambda: len(self.records(tool="list_devices")) == 2, "both are recorded")
        fronts = {it["call_id"]: it["front"] for it in self.records(tool="list_devices")}
        self.assertEqual(fronts["through"], "console")
        self.assertNotEqual(fronts["direct"], "console")

    def test_without_a_record_nobody_signs_in(self) -> None:
        with Gateway({}) as gateway, Console(gateway.admin) as console:
            gateway.stop()
            answer = console.send("POST", "session", None, {"code": console.code})
            self.assertEqual(answer.status, 503, answer.body)
            self.assertNotIn("set-cookie", answer.headers)
            gateway.start()
            console.press_enter()
            console.sign_in()
