"""The console in a real browser, by the link that `crab console` prints; the person is the
test."""

from __future__ import annotations

import os
import unittest
from pathlib import Path

from support import axe
from support.console_case import SIZES, ConsoleCase
from support.device import tool
from support.wait import eventually


class ConsolePageTest(ConsoleCase):
    def test_a1_a3_the_link_signs_in_and_the_code_leaves_the_address_before_anything_is_sent(
        self,
    ) -> None:
        self.assertEqual(self.page.run("return location.href"), self.console.page)
        sent = self.page.run("return performance.getEntriesByType('resource').map(e => e.name)")
        self.assertFalse([name for name in sent if self.console.code in name])
        self.page.wait_text("h1", "Overview")

    def test_a2_a_link_is_good_once(self) -> None:
        used = f"{self.console.page}#in={self.console.code}"
        self.page.click_button("Sign out")
        self.page.wait_text("h1", "Sign in")
        self.page.open("about:blank")
        self.page.open(used)
        self.page.wait_text("[role=alert]", "used or too old")
        # the browser's own line about the 401 that the page shows in words
        others = [line for line in self.page.complaints() if "401" not in line]
        self.assertEqual([line for line in others if not self.lacks(line)], [])

    def test_a_reload_goes_on_signed_in(self) -> None:
        self.page.reload()
        self.page.wait_text("h1", "Overview")

    def test_tools_and_calls_of_a_real_gateway_are_shown(self) -> None:
        device = self.open()
        name = self.unique("seen_tool")
        device.register(tool(name))
        device.serve({name: lambda _: {}})
        self.gateway.wait_listed(name)
        self.gateway.call(name)
        self.open_page("tools")
        self.page.wait_text("main", name)
        self.open_page("calls")
        self.page.wait_text("main", name)

    def test_a40_a_tool_with_effects_is_called_by_a_second_press_that_names_it(self) -> None:
        device, name = self.open(), self.unique("door")
        device.register(tool(name))
        device.serve({name: lambda _: "it is open"})
        self.gateway.wait_listed(name)
        self.open_page(f"tools&tool={name}")
        self.page.click_button("Call")
        self.page.wait_text("main [role=alert]", "A second press calls it.")
        recent = self.gateway.admin_request("GET", "/v1/admin/calls").body.decode()
        self.assertNotIn(name, recent, "one press calls nothing")
        sure = "main [role=alert] button.danger"
        self.page.wait_text(sure, name)
        self.page.wait_text(sure, self.slug)
        alive = f"return document.querySelector('{sure}:not([aria-disabled=true])') !== null"
        eventually(lambda: self.page.run(alive), "it is not dead any more")
        self.page.click(sure)
        self.page.wait_text("main", "it is open")

    def test_a44_a_filter_survives_a_reload(self) -> None:
        self.open_page("calls&filter=status:error")
        shown = "return [...document.querySelectorAll('main input')].map(each => each.value)"
        self.assertIn("status:error", self.page.run(shown))
        self.page.reload()
        self.page.wait_text("h1", "Calls")
        self.assertIn("status:error", self.page.run(shown))

    def test_every_page_is_shown_without_a_complaint_at_every_width(self) -> None:
        folder = os.environ.get("CRAB_SCREENSHOTS")
        for size, (width, height) in SIZES.items():
            self.page.resize(width, height)
            for address in self.every_page():
                name = self.show_page(address)
                # a phone makes its window as wide as what is in it
                wide = self.page.run(
                    "return Math.max(document.documentElement.scrollWidth, innerWidth)"
                )
                self.assertLessEqual(wide, width, f"{name} scrolls sideways")
                if folder:
                    self.page.screenshot(Path(folder) / f"console-{name}-{size}.png")
        self.page.resize(*SIZES["desktop"])

    @unittest.skipIf(axe.missing(), axe.missing())
    def test_a57_axe_finds_nothing_on_any_page(self) -> None:
        for theme in ("light", "dark"):
            self.page.run("localStorage.setItem('crab-theme', arguments[0])", theme)
            for address in self.every_page():
                name = self.show_page(address)
                self.assertEqual(axe.violations(self.page), [], f"{name}, {theme}")
        self.page.run("localStorage.removeItem('crab-theme')")

    def test_a62_no_page_has_a_raw_text_or_cuts_a_long_one(self) -> None:
        self.page.run("localStorage.setItem('crab-language', 'pseudo')")
        self.addCleanup(self.page.run, "localStorage.removeItem('crab-language')")
        raw = """
            const texts = [...document.querySelectorAll('#main h1, #main h2, #main .button')];
            return texts.filter(found => !found.querySelector('.safe'))  // names are not translated
                .map(found => found.innerText.trim()).filter(text => text !== '')
                .filter(text => !text.includes('['));
        """
        for address in self.every_page():
            name = self.show_page(address)
            self.assertEqual(self.page.run(raw), [], f"{name} has texts without a translation")
            overflow = self.page.run("return document.documentElement.scrollWidth > innerWidth")
            self.assertFalse(overflow, f"{name} scrolls sideways with longer texts")
