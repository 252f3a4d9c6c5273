"""The twelve jobs that people open the console for (J1 to J12 of its design), each by a keyboard
alone on a desktop and by a finger on a phone, in a real browser; and axe at every step of them."""

from __future__ import annotations

import json
import re
import sys
import tempfile
import unittest
import uuid
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from scripted_model import Answer, ScriptedModel, call

from support import axe, browser
from support.browser import Browser
from support.case import GatewayCase
from support.certificates import self_signed
from support.console import Console
from support.console_case import late_regions, watch_regions
from support.device import tool
from support.hands import Hand, Keyboard, Touch
from support.wait import eventually

BUTLER = {
    "name": "butler",
    "models": ["parrot"],
    "on": [{"event": "cron.triggered", "prompt": "It is evening."}],
}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
ROOM = {"type": "object", "properties": {"room": {"type": "string"}}, "required": ["room"]}


class JobsCase(GatewayCase):
    HAND: ClassVar[type[Hand]]
    page: ClassVar[Browser]
    console: ClassVar[Console]
    hand: ClassVar[Hand]
    model: ClassVar[ScriptedModel]

    @classmethod
    def setUpClass(cls) -> None:
        cls.model = cls.enterClassContext(ScriptedModel())
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cert, key = self_signed(folder)  # which ends in two days: J11
        cls.CONFIG = {
            "grpc": {"listen": "127.0.0.1:0", "tls": {"cert": str(cert), "key": str(key)}},
            "listen": {"console": "people"},
            "models": [{"model": "parrot", "provider": "scripted", "url": cls.model.url}],
            "agents": [BUTLER],
            "built_in_hosts": {"memory": True},
            "approvals": {"new_tools": "ask"},
            "policy": [{"principal": "*", "call": {"needs_approval": ["sms*"]}}],
        }
        super().setUpClass()
        cls.page = cls.enterClassContext(Browser(size=cls.HAND.size))
        watch_regions(cls.page)
        cls.console = cls.enterClassContext(Console(cls.gateway.admin))
        if b"without the console" in cls.console.send("GET", "").body:
            raise unittest.SkipTest("built with CRAB_WEB=OFF")
        cls.hand = cls.HAND(cls.page)
        cls.page.open(f"{cls.console.page}#in={cls.console.code}")
        cls.page.wait_text("header.top", "local/")
        cls.page.run("localStorage.setItem('crab-theme', arguments[0])", cls.HAND.theme)

    def setUp(self) -> None:
        self.model.script()
        self.page.open(self.console.page)
        self.page.wait_text("header.top", "local/")
        self.sees("Ended lately")

    def tearDown(self) -> None:
        # a chat that is new has no messages yet, and its session is made by the first one
        new = [line for line in self.page.complaints() if "/messages - " not in line]
        self.assertEqual(new, [])

    def sees(self, words: str, where: str = "main") -> None:
        """Waits until that is shown, and has axe look at the page as it is then."""
        self.page.wait_text(where, words)
        if not axe.missing():
            self.assertEqual(axe.violations(self.page), [], f"where {words!r} is shown")
        self.assertEqual(late_regions(self.page), [], f"where {words!r} is shown")
        # a phone makes its window as wide as what is in it, and everything small
        width = self.page.run("return Math.max(document.documentElement.scrollWidth, innerWidth)")
        self.assertLessEqual(width, self.HAND.size[0], f"too wide where {words!r} is shown")

    def turn_of(self, event_id: str) -> None:
        """Waits for the end of the turn that an event starts."""

        def ended() -> bool:
            turns = self.gateway.admin_request("GET", "/v1/admin/agents").json()["turns"]
            return any(it["event_id"] == event_id and "ended_at" in it for it in turns)

        eventually(ended, "the turn has ended")

    def night(self) -> None:
        """What an agent does when nobody looks."""
        remembers = call("memory_append", entries=[{"text": "the lamps are lit"}])
        self.model.script(Answer(calls=[remembers]), Answer("The lamps are lit."))
        event_id = str(uuid.uuid4())
        event = {
            "version": "v1",
            "event_id": event_id,
            "trace_id": event_id,
            "tenant_id": "default",
            "occurred_at": "2026-01-01T00:00:00Z",
            "event_type": "cron.triggered",
            "source": {"component_type": "cron", "component_id": "cron"},
            "routing": {"agent_id": "somebody", "session_id": "s"},
            "payload": {"job_name": "evening"},
        }
        answer = self.gateway.admin_request("POST", "/v1/events", event)
        self.assertEqual(answer.status, 202, answer.body)
        self.turn_of(event_id)

    def recorded(self, words: str) -> None:
        """Waits until the audit log has it."""
        path = "/v1/admin/calls?limit=200"
        eventually(
            lambda: words in self.gateway.admin_request("GET", path).body.decode(),
            f"{words} is in the log",
        )


class Jobs:
    """The jobs themselves, by whatever hand."""

    def test_j1_why_does_my_phones_tool_not_show(self) -> None:
        camera, torch = self.unique("camera"), self.unique("torch")
        token = self.new_token("phone")
        slug = self.slug
        first = self.open(token)
        first.register(tool(camera))
        first.close()
        self.open(token).register(tool(camera), tool(torch))
        self.gateway.wait_listed(camera)
        self.hand.visit("Tools")
        self.hand.press("button", "Why is it missing?")
        self.hand.write("Device", slug)
        self.hand.write("Tool", torch)
        self.hand.press("button", "Find out")
        self.sees(f"Approve {torch}", "dialog")
        self.hand.press("button", f"Approve {torch}")
        self.gateway.wait_listed(torch)
        self.hand.close()
        eventually(lambda: not self.page.has("dialog"), "the dialog is closed")

    def test_j2_what_did_the_agent_do_last_night(self) -> None:
        self.night()
        self.hand.visit("Agents")
        self.sees("cron.triggered")
        name = self.page.text("main table tbody a")
        self.hand.press("link", name)
        self.sees("The lamps are lit.", "dialog")
        self.hand.close()
        self.recorded("agent/butler")
        self.hand.visit("Calls")
        self.hand.write("Filter calls", "principal:agent/butler from:1h")
        self.sees("memory.append")
        self.hand.press("button", "Drop from:1h")
        self.sees("memory.append")

    def test_j3_allow_this_call(self) -> None:
        sms = self.unique("sms")
        self.serving(sms, lambda _: "sent")
        self.page.open(f"{self.console.page}?page=approvals")  # what the notice opens
        watched = lambda: "Nobody watches" not in self.page.text("main")  # noqa: E731
        self.page.wait_text("h1", "Approvals")
        eventually(watched, "somebody watches")
        waiting = self.gateway.start_call(sms, {"text": "On my way"}, timeout=60)
        self.sees("On my way")
        self.hand.press("button", "Allow once")
        self.assertEqual(waiting.result(30).result, {"text": "sent"})
        self.sees("allowed")

    def test_j4_try_a_tool(self) -> None:
        name = self.unique("thermometer")
        self.serving(name, lambda args: f"{args['room']}: 21.5 degrees", ROOM)
        self.hand.visit("Tools")
        self.hand.write("Search tools", name)
        self.sees("one tool")  # the search has answered; until then the list is drawn anew
        self.hand.press("link", name)
        self.hand.write("room…", "kitchen")
        self.sees("allowed by")
        self.hand.press("button", "Call")
        self.sees("A second press calls it.")
        self.hand.press("button", f"Yes, call {name}…")
        self.sees("kitchen: 21.5 degrees")

    def test_j5_what_may_this_token_do_and_why_was_it_refused(self) -> None:
        sms = self.unique("sms")
        self.serving(sms, lambda _: "sent")
        self.assertEqual(self.gateway.call(sms).code, "FORBIDDEN")
        self.recorded(sms)
        self.hand.visit("Calls")
        self.hand.write("Filter calls", f"tool:{sms}")
        self.hand.press("button", sms)
        self.sees("Why: ask the policy")
        self.hand.press("link", "Why: ask the policy")
        self.sees("Needs approval")
        self.hand.press("link", "What may X do")
        self.hand.write("Who", "caller/tester")
        self.hand.press("button", "Ask")
        self.sees(sms, "main table")

    def test_j6_pair_a_phone_and_a_script(self) -> None:
        self.hand.visit("Devices")
        self.hand.press("button", "Pair")
        eventually(lambda: self.page.text(".pair-code") != "", "a code")
        self.sees("Waiting for the device", "dialog")
        code = self.page.text(".pair-code")
        pairing = {"X-Pairing-Code": code}
        answer = self.gateway.fetch("POST", "/pair", headers=pairing, body=b"")
        self.assertEqual(answer.status, 200, answer.body)
        self.sees("is paired", "dialog")
        self.hand.close()
        self.hand.press("button", "Pair")
        self.hand.press("button", "Script token")
        self.hand.write("Name", "backup")
        self.hand.press("button", "Make a token")
        self.sees("it is not shown again", "dialog")
        token = self.page.text("dialog .pair-command")
        self.assertEqual(self.gateway.fetch("GET", "/v1/tools", token).status, 200)
        self.hand.close()

    def test_j7_what_is_slow_or_failing(self) -> None:
        name = self.unique("failing")
        device = self.serving(name)
        call_it = self.gateway.start_call(name)
        device.fail(device.next_call(name), "it is broken")
        self.assertEqual(call_it.result(20).status, "error")
        self.hand.visit("Overview")
        self.hand.press("link", "Performance")
        self.sees(name)
        self.hand.press("link", "Failed")
        self.hand.choose("By", "source")
        self.sees(self.slug)
        self.hand.choose("By", "tool")
        self.page.wait_text("main", name)
        shown = next(
            found
            for found in self.page.run(
                "return [...document.querySelectorAll('main th a')].map(it => it.innerText.trim())"
            )
            if name in found
        )
        self.hand.press("link", shown)
        self.page.wait_text("h1", "Calls")
        self.sees(name)

    def test_j8_what_runs_now_and_stop_it(self) -> None:
        name = self.unique("endless")
        device = self.serving(name)
        running = self.gateway.start_call(name, timeout_ms=60_000, timeout=60)
        device.next_call(name)
        self.hand.visit("Calls")
        self.sees("Running")
        self.hand.press("button", f"Cancel {name}")
        self.assertEqual(running.result(30).code, "CANCELLED")
        self.sees("CANCELLED")

    def test_j9_talk_to_my_agent(self) -> None:
        caller = self.unique("anna")
        token = self.gateway.pair(caller, ("caller",))
        self.model.script(Answer("It is **21.5** degrees."))
        self.page.open(f"http://localhost:{self.gateway.public[1]}/console/")
        self.sees("Sign in", "h1")
        self.hand.write("pairing code or token", token)
        self.hand.press("button", "Sign in")
        self.page.wait_text("header.top", caller)
        self.sees("Choose a chat")
        self.hand.choose("Agent", "butler")
        self.hand.press("button", "New chat")
        self.hand.write("Message", "Is it warm enough?")
        self.hand.send()
        self.sees("It is 21.5 degrees.")
        self.hand.press("button", "Sign out")
        self.sees("Sign in", "h1")

    def test_a53_a_call_that_waits_is_allowed_within_the_chat(self) -> None:
        sms = self.unique("sms")
        self.serving(sms, lambda args: f"sent {args['text']}", TEXT)
        self.model.script(Answer(calls=[call(sms, text="On my way")]), Answer("It is sent."))
        self.hand.visit("Chat")
        self.hand.choose("Agent", "butler")
        self.hand.press("button", "New chat")
        self.hand.write("Message", "Tell her that I come")
        self.hand.send()
        self.sees("On my way", "main .consent")
        self.assertIn(sms, self.page.text("main .consent"))
        self.assertNotIn("It is sent.", self.page.text("main"), "nothing runs before the answer")
        self.hand.press("button", "Allow once")
        self.sees("It is sent.")
        eventually(lambda: not self.page.has("main .consent button"), "there is no more to answer")

    def test_j10_prove_what_happened(self) -> None:
        name = self.unique("proven")
        self.serving(name, lambda _: "ok")
        self.gateway.call(name)
        self.recorded(name)
        self.hand.visit("Audit")
        self.hand.write("Filter the log", f"from:1h tool:*{name}")
        self.sees(name)
        self.hand.press("button", f"{name}")
        self.sees(name, "dialog")
        self.hand.close()
        self.hand.press("button", "Verify now")
        self.sees("The chain is intact")
        self.hand.press("button", "Export")
        self.sees("CSV", "dialog")
        self.hand.press("button", "CSV, for a table")
        self.page.wait_text(".toasts", "The export is complete")

    def test_j11_is_it_well_and_what_expires(self) -> None:
        health = self.gateway.admin_request("GET", "/v1/admin/health").json()
        (certificate,) = health["certificates"]
        self.assertEqual(certificate["state"], "warn")
        self.hand.press("link", "The certificate grpc.tls ends …")  # under what needs somebody
        self.sees("Stores")
        checks = self.page.run(
            "return [...document.querySelectorAll('main .health-check')].map(it => it.innerText)"
        )
        (at,) = (n for n, check in enumerate(checks) if "grpc.tls" in check)
        self.assertRegex(checks[at], r"^attention\s+grpc\.tls (.|\n)*crab tls init")
        first_well = next(n for n, check in enumerate(checks) if check.startswith("ok"))
        self.assertLess(at, first_well, "what is not well stands first")
        shown = self.page.text("main")
        for each in health["stores"]:
            self.assertRegex(shown, rf"{re.escape(each['name'])}\s+{each['state']}\b")
        day = datetime.fromisoformat(certificate["not_after"]).day
        self.assertRegex(shown, rf"grpc\.tls\nwarn\n(.*\n){{2}}Ends\n{day}\b")
        self.hand.press("button", "Copy")
        self.sees("Copied", "body")

    def test_j12_the_phone_is_lost(self) -> None:
        name = self.unique("lost_camera")
        self.serving(name, lambda _: "ok")
        self.hand.visit("Devices")
        self.hand.write("Search devices", self.slug)
        self.hand.press("link", self.slug)
        self.sees("Offered")
        self.hand.press("button", "Revoke")
        self.sees("calls that run there end", "dialog")
        self.hand.press("button", "Revoke")
        self.gateway.wait_gone(name)
        self.sees("It offers no tool now.")


@unittest.skipIf(browser.missing(), browser.missing())
class KeyboardTest(Jobs, JobsCase):
    HAND = Keyboard


@unittest.skipIf(browser.missing(), browser.missing())
class TouchTest(Jobs, JobsCase):
    HAND = Touch
