"""The console with a great deal to show: what its main thread spends on it. Processor time is
measured, so that a busy machine changes nothing."""

from __future__ import annotations

import os
import sqlite3
import time

from support.console_case import ConsoleCase
from support.wait import eventually

# A list of 100 000 tools, as the gateway pages it.
MANY_TOOLS = """
(() => {
  const real = window.fetch.bind(window);
  window.fetch = (what, how) => {
    const url = new URL(String(what instanceof Request ? what.url : what), location.href);
    if (!url.pathname.endsWith("/v1/admin/tools") || !url.searchParams.has("view"))
      return real(what, how);
    const offset = Number(url.searchParams.get("offset"));
    const tools = Array.from({ length: Math.min(200, 100000 - offset) }, (_, index) => ({
      name: `tool_${offset + index}`,
      qualified_name: `laptop__tool_${offset + index}`,
      source: "device/laptop",
      brief: "What a filesystem has and what of it is free.",
      effects: "none",
      state: "offered",
      tokens: 120,
    }));
    const body = JSON.stringify({ generation: 1, total: 100000, tools });
    return Promise.resolve(new Response(body, { headers: { "Content-Type": "application/json" } }));
  };
})();
"""
SCROLL = """
new Promise(done => {
  const box = document.querySelector('.virtual');
  box.scrollTop += %d;
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));
})
"""


class ConsoleLargeTest(ConsoleCase):
    def setUp(self) -> None:
        super().setUp()
        self.page.devtools("Performance.enable", timeDomain="threadTicks")
        self.addCleanup(self.page.devtools, "Performance.disable")

    def seconds(self) -> float:
        """Of the page's main thread on a processor."""
        metrics = self.page.devtools("Performance.getMetrics")["metrics"]
        return next(it["value"] for it in metrics if it["name"] == "TaskDuration")

    def test_a51_two_thousand_messages_are_shown_within_half_a_second(self) -> None:
        self.gateway.stop()
        now = time.time_ns() // 1_000_000
        with sqlite3.connect(self.gateway.folder / "state/sessions.db") as store:
            store.execute(
                "INSERT INTO chat_session VALUES (?, ?, 'long', 'crab', ?, ?, 2000)",
                ("long", f"local/{os.getuid()}", now, now),
            )
            for number in range(2000):
                role = "user" if number % 2 == 0 else "assistant"
                content = f"Message {number}, with **markup** and `code`.\n\n- one\n- two"
                store.execute(
                    "INSERT INTO chat_message (session, role, content, created_ms, extra) "
                    "VALUES ('long', ?, ?, ?, '')",
                    (role, content, now + number),
                )
        self.gateway.start()
        self.open_page("chat")
        self.page.complaints()  # of the time without a gateway
        before = self.seconds()
        self.page.run("history.pushState(null, '', '?page=chat&session=long')")
        self.page.run("dispatchEvent(new PopStateEvent('popstate'))")
        shown = "return document.querySelectorAll('.said-all .said').length"
        eventually(lambda: self.page.run(shown) > 79, "the newest are shown", 30)
        spent = self.seconds() - before
        text = self.page.text(".said-all")
        self.assertIn("Message 1999", text)
        self.assertIn("1,920 earlier", text)
        self.assertLess(spent, 0.5)

    def test_a64_a_hundred_thousand_tools_scroll_within_a_frame(self) -> None:
        made = self.page.devtools("Page.addScriptToEvaluateOnNewDocument", source=MANY_TOOLS)
        self.addCleanup(
            self.page.devtools,
            "Page.removeScriptToEvaluateOnNewDocument",
            identifier=made["identifier"],
        )
        self.open_page("tools")
        self.page.wait_text(".virtual", "tool_0")
        steps = []
        for step in range(80):
            before = self.seconds()
            # rows, then whole pages of the list, as a wheel and a scroll bar go
            pixels = 400 if step % 4 else 40_000
            self.page.devtools("Runtime.evaluate", expression=SCROLL % pixels, awaitPromise=True)
            steps.append(self.seconds() - before)
        steps.sort()
        # A step is two frames at least: the list moves, then its rows are drawn.
        self.assertLess(steps[int(len(steps) * 0.95)], 2 * 0.033, steps[-8:])
        rows = "return document.querySelectorAll('.virtual tbody tr').length"
        self.assertLess(self.page.run(rows), 120, "only what is seen is in the document")
        top = self.page.run("return document.querySelector('.virtual').scrollTop")
        self.assertGreater(top, 500_000)
        shown = "return document.querySelector('.virtual').innerText"
        eventually(lambda: "tool_" in self.page.run(shown), "rows far down are read")
