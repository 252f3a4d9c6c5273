"""The base of tests that look at the console in a real browser, signed in by the link that `crab
console` prints; the person is the test."""

from __future__ import annotations

import re
import unittest
from typing import ClassVar

from . import browser
from .browser import Browser
from .case import GatewayCase
from .console import Console
from .wait import eventually

# In front of the page's own scripts. A region that comes into the page together with its words is
# told by few screen readers (alerts are): it has to be there before them.
_REGIONS = """
const late = window.crabLateRegions = [];
new MutationObserver(changes => {
    for (const {addedNodes} of changes)
        for (const added of addedNodes) {
            if (added.nodeType !== Node.ELEMENT_NODE) continue;
            const found = "[role=status], [aria-live]:not([aria-live=off])";
            for (const each of [added, ...added.querySelectorAll(found)])
                if (each.matches(found) && each.textContent.trim() !== "")
                    late.push(each.outerHTML.slice(0, 160));
        }
}).observe(document, {subtree: true, childList: true});
"""


def watch_regions(page: Browser) -> None:
    """From now on each page notes the live regions that came with their words."""
    page.devtools("Page.addScriptToEvaluateOnNewDocument", source=_REGIONS)


def late_regions(page: Browser) -> list[str]:
    return page.run("return window.crabLateRegions ?? []")


SIZES = {"desktop": (1280, 900), "phone": (390, 844), "narrow": (320, 700)}


@unittest.skipIf(browser.missing(), browser.missing())
class ConsoleCase(GatewayCase):
    page: ClassVar[Browser]
    console: ClassVar[Console]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.page = cls.enterClassContext(Browser(size=SIZES["desktop"]))
        watch_regions(cls.page)
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
        self.assertEqual(late_regions(self.page), [], address)
        return address.partition("page=")[2] or "overview"
