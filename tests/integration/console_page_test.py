"""The console in a real browser, by the link that `crab console` prints; the person is the
test."""

from __future__ import annotations

import os
import unittest
from pathlib import Path
from typing import ClassVar

from support import browser
from support.browser import Browser
from support.case import GatewayCase
from support.console import Console
from support.device import tool
from support.wait import eventually

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


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
        self.assertEqual(self.page.complaints(), [])

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
        self.assertTrue(all("401" in line for line in self.page.complaints()))

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

    def test_every_page_is_shown_without_a_complaint_at_both_widths(self) -> None:
        pages = self.page.run(
            "return [...document.querySelectorAll('nav.rail a')].map(a => a.href)"
        )
        self.assertGreater(len(pages), 2)
        folder = os.environ.get("CRAB_SCREENSHOTS")
        for size, (width, height) in SIZES.items():
            self.page.resize(width, height)
            for address in pages:
                self.page.open(address)
                self.page.wait_text("header.top", "local/")
                eventually(lambda: self.page.text("h1") != "", f"{address} has a heading", 30)
                overflow = self.page.run("return document.documentElement.scrollWidth > innerWidth")
                self.assertFalse(overflow, f"{address} scrolls sideways at {width} px")
                if folder:
                    shown = address.partition("page=")[2] or "overview"
                    self.page.screenshot(Path(folder) / f"console-{shown}-{size}.png")
        self.page.resize(*SIZES["desktop"])
