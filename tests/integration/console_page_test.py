"""The console in a real browser, by the link that `crab console` prints; the person is the
test."""

from __future__ import annotations

import os
import re
import unittest
from pathlib import Path
from typing import ClassVar

from support import axe, browser
from support.browser import Browser
from support.case import GatewayCase
from support.console import Console
from support.device import tool
from support.wait import eventually

SIZES = {"desktop": (1280, 900), "phone": (390, 844), "narrow": (320, 700)}


@unittest.skipIf(browser.missing(), browser.missing())
class ConsolePageTest(GatewayCase):
    page: ClassVar[Browser]
    console: ClassVar[Console]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.page = cls.enterClassContext(Browser(size=SIZES["desktop"]))
        cls.console = cls.enterClassContext(Console(cls.gateway.admin))
        if b"without the console" in cls.console.send("GET", "").body:
            raise unittest.SkipTest("built with CRAB_WEB=OFF")

    def setUp(self) -> None:
        self.page.open("about:blank")
        self.console.press_enter()
        self.page.open(f"{self.console.page}#in={self.console.code}")
        self.page.wait_text("header.top", "local/")

    def tearDown(self) -> None:
        self.assertEqual([line for line in self.page.complaints() if not self.lacks(line)], [])

    def lacks(self, complaint: str) -> bool:
        """Whether the browser complains of a route that this gateway does not have: the page says
        so in words."""
        found = re.match(r"\S+/console/api(/v1/admin/[a-z/]+)\S* - .* 404 ", complaint)
        routes = self.gateway.admin_request("GET", "/openapi.json").json()["paths"]
        return found is not None and found[1] not in routes

    def open_page(self, name: str) -> None:
        self.page.open(f"{self.console.page}?page={name}")
        self.page.wait_text("header.top", "local/")

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

    def every_page(self) -> list[str]:
        """The addresses of all pages: those of the rail, and one that others lead to."""
        pages = self.page.run(
            "return [...document.querySelectorAll('nav.rail a')].map(a => a.href)"
        )
        self.assertGreater(len(pages), 14)
        return [*pages, f"{self.console.page}?page=performance"]

    def show_page(self, address: str) -> str:
        """Opens a page and waits until it has read what it shows; its name."""
        self.page.open(address)
        self.page.wait_text("header.top", "local/")
        eventually(lambda: self.page.text("h1") != "", f"{address} has a heading", 30)
        busy = "return document.querySelector('#main [aria-busy=true]') !== null"
        eventually(lambda: not self.page.run(busy), f"{address} has read what it shows", 30)
        return address.partition("page=")[2] or "overview"

    def test_every_page_is_shown_without_a_complaint_at_every_width(self) -> None:
        folder = os.environ.get("CRAB_SCREENSHOTS")
        for size, (width, height) in SIZES.items():
            self.page.resize(width, height)
            for address in self.every_page():
                name = self.show_page(address)
                overflow = self.page.run("return document.documentElement.scrollWidth > innerWidth")
                self.assertFalse(overflow, f"{name} scrolls sideways at {width} px")
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
