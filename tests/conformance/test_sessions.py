"""Chat sessions: searched page by page, and their calls found again in the audit log
(docs/protocols/clawseed.md, section 8; `crab sessions`)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlencode

from support.case import GatewayCase
from support.device import tool
from support.gateway import program
from support.wait import eventually
from support.websocket import WebSocket

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from scripted_model import Answer, ScriptedModel, call  # noqa: E402


class SessionCase(GatewayCase):
    model: ClassVar[ScriptedModel]

    @classmethod
    def setUpClass(cls) -> None:
        cls.model = cls.enterClassContext(ScriptedModel())
        cls.CONFIG = {
            "models": [{"model": "parrot", "provider": "scripted", "url": cls.model.url}],
            "agents": [{"name": "butler"}],
        }
        super().setUpClass()

    def chat(self, **query: str) -> WebSocket:
        chat = WebSocket(self.gateway.admin, f"/ws/chat?{urlencode(query)}")
        self.addCleanup(chat.stream.close)
        self.assertEqual(json.loads(chat.receive_text())["type"], "session_start")
        return chat

    def turn(self, chat: WebSocket, content: str) -> list[dict[str, Any]]:
        chat.send_text(json.dumps({"type": "message", "content": content}))
        frames: list[dict[str, Any]] = []
        while not frames or frames[-1]["type"] != "agent_end":
            frames.append(json.loads(chat.receive_text()))
        return frames

    def list(self, status: int = 200, **query: Any) -> dict[str, Any]:
        answer = self.gateway.admin_request("GET", f"/api/sessions?{urlencode(query)}")
        self.assertEqual(answer.status, status, answer.body)
        return answer.json()

    def ids(self, **query: Any) -> list[str]:
        return [each["session_id"] for each in self.list(**query)["sessions"]]


class SessionListTest(SessionCase):
    def test_names_and_agents_are_searched_page_by_page(self) -> None:
        names = ["Kitchen", "Warm kitchen", "Night"]
        for number, name in enumerate(names):
            self.chat(session_id=f"s{number}", name=name)
        self.chat(session_id="served", name="Kitchen table", persona="butler")
        self.assertEqual(set(self.ids(q="KITCHEN")), {"s0", "s1", "served"})
        self.assertEqual(self.ids(q="kitchen warm"), ["s1"])
        self.assertEqual(self.ids(agent="but*"), ["served"])
        whole = set(self.ids())
        self.assertLessEqual({"s0", "s1", "s2", "served"}, whole)
        found, cursor = [], ""
        while True:
            page = self.list(limit=2, cursor=cursor)
            self.assertLessEqual(len(page["sessions"]), 2)
            found += [each["session_id"] for each in page["sessions"]]
            cursor = page.get("cursor", "")
            if not cursor:
                break
        self.assertEqual(len(found), len(set(found)))
        self.assertEqual(set(found), whole)
        for query in ({"limit": 0}, {"cursor": "x"}, {"q": "a" * 257}):
            self.assertEqual(self.list(400, **query)["code"], "INVALID_ARGS")

    def test_the_command_line_lists_shows_and_deletes_them(self) -> None:
        self.model.script(Answer("It is 21 degrees."))
        self.turn(self.chat(session_id="cli", name="From the shell"), "Is it warm?")
        self.assertIn("From the shell", self.gateway.crab("sessions", "list", "shell"))
        self.assertNotIn("From the shell", self.gateway.crab("sessions", "list", "other"))

        def shown() -> str:
            return self.gateway.crab("sessions", "show", "cli")

        eventually(lambda: "It is 21 degrees." in shown(), "the answer is stored")
        self.assertIn("Is it warm?", shown())
        refused = subprocess.run(
            [program(), "sessions", "delete", "cli", "--socket", str(self.gateway.admin)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=20,
        )
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("--yes", refused.stderr)
        self.assertIn("deleted", self.gateway.crab("sessions", "delete", "cli", "--yes"))
        self.assertNotIn("cli", self.ids())


class CallIdTest(SessionCase):
    def test_a_turns_calls_are_found_in_the_audit_log(self) -> None:
        device, name = self.open(), self.unique("thermometer").replace("-", "_")
        device.register(tool(name))
        device.serve({name: lambda _: {"celsius": 21.5}})
        self.gateway.wait_listed(name)
        self.model.script(Answer(calls=[call(name)]), Answer("21.5 degrees."))
        chat = self.chat(session_id="warm")
        chat.send_text(json.dumps({"type": "connect", "capabilities": ["tool_call.call_id"]}))
        self.assertEqual(json.loads(chat.receive_text())["type"], "connected")
        frames = self.turn(chat, "Is it warm?")
        (called,) = [it for it in frames if it["type"] == "tool_call"]
        (result,) = [it for it in frames if it["type"] == "tool_result"]
        self.assertNotEqual(called["call_id"], called["id"])
        self.assertEqual(result["call_id"], called["call_id"])
        path = f"/v1/admin/calls/{called['call_id']}"
        eventually(
            lambda: self.gateway.admin_request("GET", path).status == 200, "its record is there"
        )
        record = self.gateway.admin_request("GET", path).json()
        self.assertEqual((record["tool"], record["session"]), (name, "warm"))

        def stored() -> list[dict[str, Any]]:
            answer = self.gateway.admin_request("GET", "/api/sessions/warm/messages").json()
            return [it for it in answer["messages"] if it["role"] == "tool"]

        eventually(stored, "the result is stored")
        self.assertEqual(
            [(it["tool"], it["call_id"]) for it in stored()], [(name, called["call_id"])]
        )
