"""The base of the tests of the device page: a real browser at a real gateway; the person is the
test."""

from __future__ import annotations

import unittest
from typing import ClassVar

from . import browser
from .browser import Browser
from .case import GatewayCase
from .wait import eventually

PATIENCE = 30.0  #: seconds; a browser on a loaded machine takes its time
PLACE = {"latitude": 53.5461, "longitude": 9.9661, "accuracy": 12}
LASTING = ("Always allow", "Until I close this page", "Never")
TABS = ("now", "tools", "answers", "about")


@unittest.skipIf(browser.missing(), browser.missing())
class DevicePageCase(GatewayCase):
    """
    One gateway, which lets an address pair ten times a minute, and one browser for all tests; each
    begins as one that was never here. `ARGUMENTS` are more words for the browser.
    """

    ARGUMENTS: ClassVar[tuple[str, ...]] = ()
    page: ClassVar[Browser]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.page = cls.enterClassContext(Browser(*cls.ARGUMENTS))
        cls.origin = f"http://127.0.0.1:{cls.gateway.public[1]}"
        cls.address = f"{cls.origin}/device/"
        cls.page.devtools(
            "Browser.grantPermissions",
            origin=cls.origin,
            permissions=["geolocation", "notifications"],
        )
        cls.page.devtools("Emulation.setGeolocationOverride", **PLACE)

    def setUp(self) -> None:
        self.page.open(self.address)
        self.page.run("localStorage.clear()")
        self.page.complaints()

    def tearDown(self) -> None:
        self.assertEqual(self.unexpected(), [])
        self.page.run("localStorage.clear()")
        self.page.open("about:blank")
        self.gone("get_location")  # so that the next test's is the only one

    def unexpected(self) -> list[str]:
        """What the browser complained of, but for the console, which this gateway does not
        serve."""
        console = f"{self.origin}/console/ - Failed to load"
        return [line for line in self.page.complaints() if not line.startswith(console)]

    # Steps

    def answer(self, words: str) -> None:
        """Answers the open question; lasting answers stand behind *More*."""
        if words in LASTING:
            self.page.click_button("More")
        self.page.click_button(words)

    def tab(self, name: str) -> None:
        """Shows one of the page's parts: `now`, `tools`, `answers`, `about`."""
        self.page.run(
            "[...document.querySelectorAll('.tabs a')][arguments[0]].click()", TABS.index(name)
        )
        eventually(
            lambda: self.page.run(
                "return [...document.querySelectorAll('.tabs a')]"
                ".findIndex(each => each.ariaCurrent || each.getAttribute('aria-current'))"
            )
            == TABS.index(name),
            f"{name} is shown",
            PATIENCE,
        )

    def code(self, name: str) -> str:
        """A pairing code of the operator for a device of that name."""
        response = self.gateway.admin_request("POST", "/v1/admin/devices/pair", {"name": name})
        self.assertIn(response.status, (200, 201), response.body)
        return response.json()["code"]

    def pair(self) -> None:
        """A new device, named `self.slug`, whose tools are registered."""
        self.slug = self.gateway.unique("page")
        self.page.open(f"{self.address}#pair={self.code(self.slug)}")
        self.page.click_button("Pair this device")
        self.page.wait_text(".link", "Connected")
        self.listed("get_location")

    def listed(self, *names: str) -> None:
        eventually(
            lambda: set(names) <= self.gateway.tools().keys(), f"{names} are listed", PATIENCE
        )

    def gone(self, *names: str) -> None:
        eventually(
            lambda: not set(names) & self.gateway.tools().keys(),
            f"{names} are no longer listed",
            PATIENCE,
        )

    def tool(self, name: str) -> str:
        return f"{self.slug}__{name}"

    def start(self, name: str, args: object = None, agent: str = "planner", caller: str = "ci"):
        return self.gateway.start_call(
            self.tool(name),
            args,
            caller=caller,
            context={"agent_id": agent, "session_id": "s"},
            timeout=60.0,
        )
