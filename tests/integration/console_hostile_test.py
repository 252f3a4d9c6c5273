"""Two hundred hostile texts on every page of the console, in a real browser (A18, A21): brought by
a device, an MCP server, a caller, a model and events; then in every place of the gateway's answers,
those too where the gateway takes no such text today."""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from scripted_model import Answer, ScriptedModel, call

from support import hostile
from support.approver import Approver
from support.browser import CONTROL
from support.console_case import SIZES, ConsoleCase
from support.device import tool
from support.wait import eventually

MCP_SERVER = Path(__file__).resolve().parent.parent / "support/hostile_mcp.py"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>'

# In front of the page's own scripts: the gateway's answers, with hostile texts for their own. Each
# list of rows gets a row for each text; `keep` leaves the words alone by which pages decide what to
# draw, and times.
ANSWERS = """
(() => {
  const {texts, from, keep} = STATE;
  const real = window.fetch.bind(window);
  const WORDS = new Set(["status", "state", "kind", "verdict", "effect", "effects", "type", "stage",
                         "decision", "form", "role", "call_id", "session_id", "id"]);
  const KEYED = new Set(["args", "properties", "payload", "attributes", "metadata"]);
  const TIME = /^\\d{4}-\\d\\d-\\d\\dT/;
  let at = from;
  const next = () => texts[at++ % texts.length];
  const changed = (value, text, name) => {
    if (typeof value === "string")
      return keep && (WORDS.has(name) || TIME.test(value)) ? value : text();
    if (Array.isArray(value)) {
      if (text !== next || !value.some(each => typeof each === "object" && each !== null))
        return value.map(each => changed(each, text, name));
      return texts.map((_, index) => {
        const own = texts[(index + from) % texts.length];
        return changed(value[index % value.length], () => own, name);
      });
    }
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) =>
      [KEYED.has(name) ? text() : key,
       key === "total" && typeof each === "number" ? texts.length : changed(each, text, key)]));
  };
  window.fetch = async (what, how) => {
    const url = String(what instanceof Request ? what.url : what);
    // a server whose name is foreign has descriptions that wait, too
    const asked = typeof what === "string"
      ? what.replace(/(servers\\/)[^/]*(\\/diff)$/, "$1asks$2") : what;
    const answer = await real(asked, how);
    const type = answer.headers.get("Content-Type") ?? "";
    if (!/(^|\\/)api\\//.test(url) || /console\\/session/.test(url) || !type.includes("json"))
      return answer;
    const body = JSON.stringify(changed(await answer.json(), next, ""));
    return new Response(body, {status: answer.status, headers: {"Content-Type": type}});
  };
})();
"""

#: What sticks out at the right, the innermost of it.
WIDEST = """
    const out = [...document.querySelectorAll("body *")].filter(each =>
        each.getBoundingClientRect().right > 321 && !each.closest(".unseen"));
    return out.filter(each => !out.some(other => other !== each && each.contains(other)))
        .slice(0, 3).map(each => each.outerHTML.slice(0, 160));
"""


class ConsoleHostileTest(ConsoleCase):
    maxDiff = None
    model: ClassVar[ScriptedModel]
    slug: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.model = cls.enterClassContext(ScriptedModel())
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        (folder / "texts.json").write_text(json.dumps(hostile.sendable()), encoding="utf-8")
        child = {"command": sys.executable, "args": [str(MCP_SERVER), str(folder / "texts.json")]}
        cls.CONFIG = {
            "models": [{"model": "parrot", "provider": "scripted", "url": cls.model.url}],
            "agents": [
                {
                    "name": "butler",
                    "models": ["parrot"],
                    "on": [{"event": "cron.triggered", "prompt": "It is evening."}],
                }
            ],
            "built_in_hosts": {"memory": True},
            "mcp": {"enabled": True, "servers": {"evil": child, "asks": child | {"pin": "ask"}}},
            "policy": [{"principal": "*", "call": {"needs_approval": ["asks*"]}}],
        }
        super().setUpClass()
        hostile.guard(cls.page)

    def setUp(self) -> None:
        super().setUp()
        texts = hostile.sendable()
        self.texts: Iterator[str] = itertools.cycle(texts)

    def lacks(self, complaint: str) -> bool:
        """Rows with foreign names lead to what the gateway does not have."""
        return "Failed to load resource" in complaint or super().lacks(complaint)

    # What brings them

    def bring_tools(self) -> None:
        """A device with a tool for each way to answer, and one that it may not have."""
        device = self.open()
        text = next(self.texts)
        schema = {
            "type": "object",
            "title": text,
            "properties": {
                each[:80] or "empty": {"type": "string", "title": each, "description": each}
                for each in hostile.sendable()[:60]
            },
        }
        names = [
            self.unique("evil"),
            self.unique("evil_fails"),
            self.unique("asks_evil"),
            self.unique("asks_once"),
        ]
        device.register(
            *(tool(name, schema, description=f"{text} {name}") for name in names),
            tool("<script>alert(1)</script>", description=text),
        )
        device.serve({names[0]: lambda args: {"args": args, "says": hostile.sendable()}})
        self.gateway.wait_listed(*names)
        self.tool_name = names[0]
        args = {each[:80]: each for each in hostile.sendable()[60:120]}
        self.assertEqual(self.gateway.call(names[0], args).status, "ok")
        broken = self.unique("breaks")
        failing = self.serving(broken)
        for each in hostile.sendable()[120:150]:
            running = self.gateway.start_call(broken)
            failing.fail(failing.next_call(broken), each or "empty")
            self.assertEqual(running.result(20).status, "error")
        self.keep_artifact(failing, broken)
        self.asking = (names[3], args)
        self.decide(names[2], args, decision="deny", scope="once")
        self.decide(names[2], args, decision="deny", scope="session")

    def decide(self, name: str, args: Any, **decision: str) -> None:
        """A call that somebody was asked about."""
        with Approver(self.gateway) as approver:
            asked = self.gateway.start_call(name, args, timeout=60)
            path = f"/v1/admin/approvals/{approver.question()['id']}"
            answer = self.gateway.admin_request("POST", path, decision)
            self.assertEqual(answer.status, 200, answer.body)
            self.assertEqual(asked.result(30).code, "FORBIDDEN")

    def keep_artifact(self, device: Any, name: str) -> None:
        """Documents that a page must not open."""
        for content, kind in ((SVG, "image/svg+xml"), (b"<script>alert(1)</script>", "text/html")):
            running = self.gateway.start_call(name)
            request = device.next_call(name)
            stored = device.upload(request, content, kind)
            self.assertEqual(stored.status, 201, stored.body)
            device.answer_uploaded(request, stored.json()["artifact"])
            self.artifact = running.result(20).result["artifact"]

    def bring_event(self, payload: Any, kind: str = "cron.triggered") -> str:
        event_id = str(uuid.uuid4())
        event = {
            "version": "v1",
            "event_id": event_id,
            "trace_id": event_id,
            "tenant_id": "default",
            "occurred_at": "2026-01-01T00:00:00Z",
            "event_type": kind,
            "source": {"component_type": "cron", "component_id": "cron"},
            "routing": {"agent_id": "somebody", "session_id": "s"},
            "payload": payload,
        }
        answer = self.gateway.admin_request("POST", "/v1/events", event)
        self.assertEqual(answer.status, 202, answer.body)
        return event_id

    def bring_turn(self) -> None:
        """An event with such a payload, and a model that answers with such words."""
        texts = hostile.sendable()
        remembers = call("memory_append", entries=[{"text": each} for each in texts[:10]])
        self.model.script(
            Answer("\n\n".join(texts[:90]), thinking=texts[1], calls=[remembers], piece=500),
            Answer("\n\n".join(texts[90:]), piece=5_000),
        )
        event_id = self.bring_event({each[:80]: each for each in texts})

        def ended() -> bool:
            turns = self.gateway.admin_request("GET", "/v1/admin/agents").json()["turns"]
            return any(it["event_id"] == event_id and "ended_at" in it for it in turns)

        eventually(ended, "the turn has ended", 30)
        self.model.script()

    def look(self, where: str) -> None:
        self.assertEqual(hostile.harms(self.page), [], where)

    def visit(self, address: str) -> None:
        self.show_page(address)
        self.look(address)

    def unfold(self) -> None:
        """Presses what unfolds: rows, `more`, details."""
        self.page.run(
            """for (const each of [...document.querySelectorAll(
                   'main button.more, main summary, main button[aria-expanded=false]'
               )].slice(0, 60)) each.click();"""
        )

    # The tests

    def test_a18_what_devices_servers_callers_and_models_say_is_only_text(self) -> None:
        self.bring_tools()
        self.bring_turn()
        approver = self.enterContext(Approver(self.gateway))
        waiting = self.gateway.start_call(self.asking[0], self.asking[1], timeout=120)
        question = approver.question()["id"]
        more = [
            f"tools&tool={self.tool_name}",
            f"devices&device={self.slug}",
            "mcp&server=evil",
            "mcp&server=asks",
            "calls&filter=status:error",
            *(f"tools&q={quote(each)}" for each in hostile.sendable()[:3]),
            *(f"calls&filter={quote(each)}" for each in hostile.sendable()[28:31]),
        ]
        seen: set[bool] = set()
        for address in [*self.every_page(), *(f"{self.console.page}?page={one}" for one in more)]:
            self.visit(address)
            self.unfold()
            self.look(f"{address}, unfolded")
            seen.add(
                self.page.run("return /<(script|svg|img|iframe)/.test(document.body.innerText)")
            )
        self.assertIn(True, seen)
        self.diff()
        self.palette()
        self.chat()
        self.call_it()
        path = f"/v1/admin/approvals/{question}"
        self.gateway.admin_request("POST", path, {"decision": "deny", "scope": "once"})
        self.assertEqual(waiting.result(30).code, "FORBIDDEN")

    def diff(self) -> None:
        """What a server says of its tools, for somebody who is to approve it."""
        self.visit(f"{self.console.page}?page=mcp&server=asks")
        many = "return document.querySelectorAll('dialog .diff').length"
        eventually(lambda: self.page.run(many) > 10, "what waits is shown", 30)
        self.look("what a server wants to be approved")

    def palette(self) -> None:
        """What is found by a few letters."""
        for typed in ("evil", "<script>", hostile.sendable()[1][:40]):
            self.open_page("overview")
            self.page.chord(CONTROL, "k")
            eventually(lambda: self.page.has("#palette-hits"), "the palette is open", 30)
            self.page.type("dialog input", typed)
            read = "return document.querySelector('dialog input').value"
            eventually(lambda: self.page.run(read) == typed, "it is typed", 30)
            if typed == "evil":
                self.page.wait_text("#palette-hits", self.tool_name)
            self.look(f"the palette, {typed}")

    def chat(self) -> None:
        """Both sides of a conversation."""
        texts = hostile.sendable()
        self.model.script(Answer("\n\n".join(texts), piece=5_000))
        self.visit(f"{self.console.page}?page=chat&session=evil&agent=butler")
        self.page.wait_text("main", "Message")
        self.page.type("#composer", "<img src=x onerror=alert(1)>")
        self.page.click_button("Send")
        self.page.wait_text("main", "</bdi></span></td></table>")
        self.look("a chat")

    def call_it(self) -> None:
        """The result of a call by hand."""
        self.visit(f"{self.console.page}?page=tools&tool={self.tool_name}")
        self.page.click_button("Call")
        sure = "main [role=alert] button.danger:not([aria-disabled=true])"
        eventually(lambda: self.page.has(sure), "the second press", 30)
        self.page.click(sure)
        self.page.wait_text("main", "says")
        self.look("a result")
        self.unfold()
        self.look("a result, unfolded")

    def test_a59_no_text_makes_a_page_scroll_sideways_at_320_px(self) -> None:
        self.bring_tools()
        self.page.resize(*SIZES["narrow"])
        self.addCleanup(self.page.resize, *SIZES["desktop"])
        approver = self.enterContext(Approver(self.gateway))
        waiting = self.gateway.start_call(self.asking[0], self.asking[1], timeout=120)
        question = approver.question()["id"]
        rows = self.gateway.admin_request("GET", "/v1/admin/calls?limit=200").json()["recent"]
        failed = next(row["call_id"] for row in rows if row["status"] == "error")
        more = [
            f"tools&tool={self.tool_name}",
            f"devices&device={self.slug}",
            f"calls&call={failed}",
            "mcp&server=asks",
        ]
        wide = {}
        for address in [*self.every_page(), *(f"{self.console.page}?page={one}" for one in more)]:
            self.show_page(address)
            for state in ("as it opens", "unfolded"):
                width = self.page.run(
                    "return Math.max(document.documentElement.scrollWidth, innerWidth)"
                )
                if width > SIZES["narrow"][0]:
                    wide[f"{address}, {state}"] = (width, self.page.run(WIDEST))
                self.unfold()
        self.assertEqual(wide, {})
        path = f"/v1/admin/approvals/{question}"
        self.gateway.admin_request("POST", path, {"decision": "deny", "scope": "once"})
        self.assertEqual(waiting.result(30).code, "FORBIDDEN")

    def test_a18_whatever_the_gateway_answers_is_only_text(self) -> None:
        self.bring_tools()
        pages = self.every_page()
        found: dict[str, list[str]] = {}
        for keep, start in ((False, 0), (True, 70), (True, 140)):
            state = {"texts": hostile.texts(), "from": start, "keep": keep}
            made = self.page.devtools(
                "Page.addScriptToEvaluateOnNewDocument",
                source=ANSWERS.replace("STATE", json.dumps(state)),
            )
            try:
                for address in [*pages, f"{self.console.page}?page=tools&tool={self.tool_name}"]:
                    self.page.open(address)
                    self.page.wait_text("header.top", "local/")
                    shown = "return document.querySelector('#main h1') !== null"
                    eventually(lambda: self.page.run(shown), f"{address} is shown", 30)
                    busy = "return document.querySelector('#main [aria-busy=true]') !== null"
                    eventually(lambda: not self.page.run(busy), f"{address} has read", 30)
                    found[f"{address} from {start}"] = hostile.harms(self.page)
                    self.unfold()
                    found[f"{address} from {start}, unfolded"] = hostile.harms(self.page)
                    if address.endswith("page=mcp"):
                        self.page.click("main table a, main table button")
                        waits = "return document.querySelectorAll('dialog .diff').length"
                        eventually(lambda: self.page.run(waits) > 100, "a diff of each", 60)
                        found[f"{address} from {start}, diffs"] = hostile.harms(self.page)
                self.page.open(pages[0])
                self.page.wait_text("header.top", "local/")
                self.page.chord(CONTROL, "k")
                names = "return document.querySelectorAll('#palette-hits li').length"
                eventually(lambda: self.page.run(names) > 40, "the palette has found names", 30)
                found[f"the palette from {start}"] = hostile.harms(self.page)
            finally:
                self.page.devtools(
                    "Page.removeScriptToEvaluateOnNewDocument", identifier=made["identifier"]
                )
        self.assertEqual({where: harms for where, harms in found.items() if harms}, {})

    def test_a21_documents_of_devices_are_files_and_never_pages(self) -> None:
        name = self.unique("draws")
        self.keep_artifact(self.serving(name), name)
        self.console.press_enter()
        self.console.sign_in()
        answer = self.console.request("GET", f"api{self.artifact['href']}")
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.headers["content-disposition"], "attachment")
        self.assertEqual(answer.headers["x-content-type-options"], "nosniff")
        self.open_page("artifacts")
        self.page.wait_text("main", "text/html")
        drawn = "return document.querySelectorAll('main .thumbnail :is(img, svg, iframe)').length"
        self.assertEqual(self.page.run(drawn), 0)
        self.look("artifacts")
