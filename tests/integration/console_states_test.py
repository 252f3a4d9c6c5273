"""What the console's pages look like when there is nothing, when it takes time, and when it fails;
what assistive technology is told of their controls; motion and colours as the person wants them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from support import axe
from support.console_case import ConsoleCase
from support.device import tool
from support.wait import eventually

# In front of the page's own scripts: answers of the gateway as the test wants them.
FETCH = """
(() => {
  const real = window.fetch.bind(window);
  const state = STATE;
  const session = /\\/console\\/session/;
  window.fetch = (what, how) => {
    const url = String(what instanceof Request ? what.url : what);
    if (!url.includes("/api/") && !url.startsWith("./api/")) return real(what, how);
    if (session.test(url)) return real(what, how);
    if (state.kind === "loading") return new Promise(() => {});
    if (state.kind === "offline") return Promise.reject(new TypeError("Failed to fetch"));
    const body = JSON.stringify({ error: state.message, code: state.code });
    const headers = { "Content-Type": "application/json" };
    return Promise.resolve(new Response(body, { status: state.status, headers }));
  };
})();
"""
STATES: dict[str, dict[str, Any]] = {
    "loading": {},
    "offline": {},
    "error": {"status": 503, "code": "UNAVAILABLE", "message": "the disk is full"},
    "forbidden": {"status": 403, "code": "FORBIDDEN", "message": "this needs an operator"},
}
# A page that asks for what the person types: both questions to it, by their addresses.
ASKED = {
    "policy": "as=local/1000&tool=anything",
    "matrix": "tab=matrix&as=local/1000",
}

# Filters that nothing fits.
NO_HIT = {
    "tools": "q=nothing_is_called_so",
    "devices": "q=nothing-is-called-so",
    "calls": "filter=tool:nothing_is_called_so",
    "audit": "filter=tool:nothing_is_called_so",
}

# (page, role, name): what a screen reader says of these controls.
CONTROLS = [
    ("overview", "link", "Overview"),
    ("overview", "link", "Chat"),
    ("overview", "link", "Approvals"),
    ("overview", "link", "Tools"),
    ("overview", "link", "Calls"),
    ("overview", "link", "Devices"),
    ("overview", "link", "Agents"),
    ("overview", "link", "Sessions"),
    ("overview", "link", "Policy"),
    ("overview", "link", "Peers"),
    ("overview", "link", "Events"),
    ("overview", "link", "Audit"),
    ("overview", "link", "Artifacts"),
    ("overview", "link", "Health"),
    ("overview", "link", "Settings"),
    ("overview", "link", "Ask an agent"),
    ("overview", "link", "Pair a device"),
    ("overview", "link", "Performance"),
    ("overview", "link", "Try a tool"),
    ("chat", "button", "New chat"),
    ("chat", "combobox", "Agent"),
    ("tools", "searchbox", "Search tools"),
    ("tools", "combobox", "State"),
    ("tools", "textbox", "Source"),
    ("tools", "button", "Why is it missing?"),
    ("calls", "searchbox", "Filter calls"),
    ("calls", "button", "Pause"),
    ("devices", "searchbox", "Search devices"),
    ("devices", "button", "Pair"),
    ("devices", "button", "Revoke"),
    ("agents", "link", "Talk to it"),
    ("sessions", "searchbox", "Search sessions"),
    ("policy", "combobox", "Who"),
    ("policy", "button", "Ask"),
    ("policy", "textbox", "Arguments (JSON)"),
    ("policy", "switch", "Ask the file on disk too"),
    ("events", "combobox", "From"),
    ("events", "searchbox", "Types"),
    ("audit", "searchbox", "Filter the log"),
    ("audit", "button", "Export"),
    ("audit", "button", "Verify now"),
    ("performance", "combobox", "By"),
    ("performance", "combobox", "The last"),
    ("tool", "button", "Call"),
    ("tool", "button", "Form"),
    ("tool", "button", "JSON"),
    ("tool", "combobox", "on"),
]


class ConsoleStatesTest(ConsoleCase):
    def answer_as(self, kind: str) -> None:
        state = json.dumps({"kind": kind, **STATES[kind]})
        made = self.page.devtools(
            "Page.addScriptToEvaluateOnNewDocument", source=FETCH.replace("STATE", state)
        )
        self.addCleanup(
            self.page.devtools,
            "Page.removeScriptToEvaluateOnNewDocument",
            identifier=made["identifier"],
        )

    def look(self, name: str, state: str) -> None:
        """What axe says of it; a picture, if they are wanted."""
        if not axe.missing():
            self.assertEqual(axe.violations(self.page), [], f"{name}, {state}")
        if folder := os.environ.get("CRAB_SCREENSHOTS"):
            self.page.screenshot(Path(folder) / f"console-{name}-{state}.png")

    def pages(self) -> list[tuple[str, str]]:
        """(name, address) of every page, and of each question that a page can be asked."""
        pages = {
            address.partition("page=")[2] or "overview": address for address in self.every_page()
        }
        policy = pages["policy"]
        return [*(pages | {name: f"{policy}&{asks}" for name, asks in ASKED.items()}).items()]

    def main(self) -> str:
        return self.page.text("#main")

    def test_a56_empty_every_page_says_what_would_be_there(self) -> None:
        for name, address in [("policy", f"{self.console.page}?page=policy"), *self.pages()]:
            self.show_page(address)
            self.assertGreater(len(self.main()), 20, name)
            self.look(name, "empty")

    def test_a56_no_hit_a_page_with_a_filter_says_what_to_drop(self) -> None:
        name = self.unique("lamp")
        self.serving(name, lambda _: "ok")
        self.assertEqual(self.gateway.call(name).status, "ok")
        for page, filtered in NO_HIT.items():
            self.page.open(f"{self.console.page}?page={page}&{filtered}")
            eventually(lambda: "drop " in self.main().lower(), f"{page} says what to drop", 20)
            self.assertNotIn(name, self.main(), page)
            self.look(page, "no hit")

    def test_a56_loading_every_page_keeps_the_place_of_what_comes(self) -> None:
        pages = self.pages()
        self.answer_as("loading")
        for name, address in pages:
            self.page.open(address)
            self.page.wait_text("header.top", "local/")
            busy = (
                "return document.querySelector('#main [aria-busy=true], #main .skeleton') !== null"
            )
            eventually(lambda: self.page.run(busy), f"{name} shows that it reads", 20)
            self.look(name, "loading")

    def see_failure(self, kind: str) -> None:
        pages = self.pages()
        self.answer_as(kind)
        code = STATES[kind]["code"]
        for name, address in pages:
            self.page.open(address)
            self.page.wait_text("header.top", "local/")
            eventually(lambda: code in self.main(), f"{name} says {code}", 20)
            self.assertIn(STATES[kind]["message"], self.main(), name)
            self.look(name, kind)

    def test_a56_error_every_page_tells_the_gateways_words(self) -> None:
        self.see_failure("error")

    def test_a56_forbidden_every_page_says_what_is_missing(self) -> None:
        self.see_failure("forbidden")

    def test_a56_offline_every_page_says_that_it_is_not_connected(self) -> None:
        pages = self.pages()
        self.answer_as("offline")
        for name, address in pages:
            self.page.open(address)
            eventually(
                lambda: self.page.run("return document.querySelector('[role=alert]') !== null"),
                f"{name} says that nothing answers",
                20,
            )
            self.look(name, "offline")


class ConsoleControlsTest(ConsoleCase):
    CONFIG = {"agents": [{"name": "butler"}]}  # a chat can be with another than the standard one
    ROLES = {
        "button",
        "link",
        "textbox",
        "searchbox",
        "combobox",
        "checkbox",
        "switch",
        "radio",
        "tab",
        "slider",
        "spinbutton",
        "menuitem",
        "option",
    }

    def controls(self) -> list[tuple[str, str]]:
        """(role, name) of all controls of the page as it is now, from the accessibility tree."""
        nodes = self.page.devtools("Accessibility.getFullAXTree")["nodes"]
        return [
            (node["role"]["value"], node.get("name", {}).get("value", "").strip())
            for node in nodes
            if not node.get("ignored") and node.get("role", {}).get("value") in self.ROLES
        ]

    def test_a60_every_control_of_every_page_has_a_name(self) -> None:
        name = self.unique("lamp")
        self.serving(name, schema={"type": "object", "properties": {"on": {"type": "boolean"}}})
        self.page.devtools("Accessibility.enable")
        found: dict[str, set[tuple[str, str]]] = {}
        for address in [*self.every_page(), f"{self.console.page}?page=tools&tool={name}"]:
            page = self.show_page(address)
            controls = self.controls()
            self.assertEqual([it for it in controls if not it[1]], [], f"{page}: without a name")
            found["tool" if "tool=" in address else page] = set(controls)
        missing = [
            (page, role, words)
            for page, role, words in CONTROLS
            if not any(it[0] == role and it[1].startswith(words) for it in found.get(page, ()))
        ]
        self.assertEqual(missing, [], {page: sorted(each) for page, each in found.items()})


class ConsoleWishesTest(ConsoleCase):
    """What the person has asked their system for."""

    def emulate(self, **features: str) -> None:
        wanted = [
            {"name": name.replace("_", "-"), "value": value} for name, value in features.items()
        ]
        self.page.devtools("Emulation.setEmulatedMedia", features=wanted)
        self.addCleanup(self.page.devtools, "Emulation.setEmulatedMedia", features=[])

    def test_a61_with_reduced_motion_nothing_moves(self) -> None:
        self.emulate(prefers_reduced_motion="reduce")
        moves = """
            const all = [...document.querySelectorAll('*')].map(each => getComputedStyle(each));
            const lasts = text => text.split(',').some(each => parseFloat(each) > 0);
            return [document.getAnimations().filter(each =>
                        each.playState === 'running' &&
                        each.effect.getComputedTiming().activeDuration > 0).length,
                    all.filter(each => each.transitionProperty !== 'none' &&
                               lasts(each.transitionDuration)).length,
                    all.filter(each => each.animationName !== 'none' &&
                               lasts(each.animationDuration)).length];
        """
        for address in self.every_page():
            name = self.show_page(address)
            self.assertEqual(self.page.run(moves), [0, 0, 0], name)

    def test_a61_with_forced_colours_controls_keep_their_edges_and_the_focus_shows(self) -> None:
        self.emulate(forced_colors="active")
        flat = """
            const seen = each => each.offsetParent !== null && !each.closest('[hidden]');
            const thick = (style, side) => parseFloat(style[`border${side}Width`]) > 0
                && style[`border${side}Style`] !== 'none';
            const edged = style => ['Top', 'Left'].some(side => thick(style, side))
                || (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0);
            return [...document.querySelectorAll('button, input, select, textarea, [role=switch]')]
                .filter(each => seen(each) && ![each, each.firstElementChild, each.parentElement]
                    .some(part => part !== null && edged(getComputedStyle(part))))
                .map(each => each.outerHTML.slice(0, 120));
        """
        focus = """
            const first = document.querySelector('#main button, #main a, #main input, nav a');
            first.focus({focusVisible: true});
            const style = getComputedStyle(document.activeElement);
            return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
        """
        self.assertTrue(self.page.run("return matchMedia('(forced-colors: active)').matches"))
        for address in self.every_page():
            name = self.show_page(address)
            self.assertEqual(self.page.run(flat), [], name)
            self.assertTrue(self.page.run(focus), f"{name}: the focus shows")


class ConsoleWaitingToolsTest(ConsoleCase):
    CONFIG = {"approvals": {"new_tools": "ask"}}

    def test_a48_a_tool_that_waits_shows_what_has_changed_and_is_approved_there(self) -> None:
        token, name, new = self.new_token(), self.unique("camera"), self.unique("shell")
        slug = self.slug
        first = self.open(token)
        first.register(tool(name, description="takes a picture"))
        first.close()
        device = self.open(token)
        schema = {"type": "object", "properties": {"to": {"type": "string"}}}
        device.register(tool(name, schema, description="takes a picture and sends it"), tool(new))
        self.page.open(f"{self.console.page}?page=devices&device={slug}")
        self.page.wait_text("main", "changed since it was approved")
        lines = """
            const sign = arguments[0];
            return [...document.querySelectorAll('.diff')]
                .find(each => each.getAttribute('aria-label') === arguments[1])
                .querySelectorAll(`.diff-line.${sign}`).values()
                .map(each => each.innerText).toArray().join(' ');
        """
        self.assertIn('"takes a picture"', self.page.run(lines, "removed", name))
        added = self.page.run(lines, "added", name)
        self.assertIn("and sends it", added)
        self.assertIn('"to"', added)
        self.page.wait_text("main", "new since the device was approved")
        self.assertEqual(self.page.run(lines, "removed", new), "", "there was nothing before it")
        self.page.click_button(f"Approve {name}")
        self.gateway.wait_listed(name)
        eventually(lambda: "changed since" not in self.page.text("main"), "it waits no more")
        self.page.wait_text("main", new)
