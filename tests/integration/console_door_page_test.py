"""The console of the public listener (`listen.console`) in a real browser: signing in with a key of
the browser's own, and what callers see."""

from __future__ import annotations

import unittest
from typing import Any, ClassVar

from support import browser
from support.browser import Browser
from support.case import GatewayCase

#: The answer's status to a reload of the configuration, as the page asks for one.
RELOAD = """
    const request = new XMLHttpRequest();
    request.open("POST", "./api/v1/admin/reload", false);
    request.setRequestHeader("content-type", "application/json");
    request.setRequestHeader("crab-console-key", localStorage.getItem("crab-console-key"));
    request.send("{}");
    return request.status;
"""


@unittest.skipIf(browser.missing(), browser.missing())
class ConsoleDoorPageTest(GatewayCase):
    CONFIG: ClassVar[dict[str, Any]] = {"listen": {"console": "people"}}
    page: ClassVar[Browser]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.page = cls.enterClassContext(Browser())
        cls.address = f"http://localhost:{cls.gateway.public[1]}/console/"
        if b"without the console" in cls.gateway.fetch("GET", "/console/").body:
            raise unittest.SkipTest("built with CRAB_WEB=OFF")

    def setUp(self) -> None:
        """A browser that was never here."""
        self.page.open(self.address)
        self.page.run("localStorage.clear()")
        self.page.run(
            "indexedDB.databases().then(all => all.forEach(({name}) => "
            "indexedDB.deleteDatabase(name)))"
        )
        self.page.open("about:blank")
        self.page.open(self.address)
        self.page.wait_text("h1", "Sign in")

    def complaints(self) -> list[str]:
        """What the browser complained of, but for refusals that the page shows in words, and
        streams that ended with their session."""
        expected = (" 40", "ERR_INCOMPLETE_CHUNKED")
        return [line for line in self.page.complaints() if not any(it in line for it in expected)]

    def enter(self, words: str) -> None:
        self.page.type(".sign-in-form input", words)
        self.page.click(".sign-in-form button")

    def code(self, name: str, role: str) -> str:
        offer = {"name": name, "roles": [role]}
        answer = self.gateway.admin_request("POST", "/v1/admin/devices/pair", offer)
        return answer.json()["code"]

    def test_a11_a_code_gives_the_browser_a_key_which_signs_in_again_and_steps_up(self) -> None:
        name = self.unique("owner")
        self.enter(self.code(name, "operator"))
        self.page.wait_text("header.top", f"caller/{name}")
        self.page.click_button("Sign out")
        self.page.wait_text("h1", "Sign in")
        self.page.click_button("Sign in with this browser's key")
        self.page.wait_text("header.top", f"caller/{name}")
        self.page.reload()
        self.page.wait_text("header.top", f"caller/{name}")
        self.assertEqual(self.page.run(RELOAD), 200, "the key was proven by signing in")
        self.gateway.admin_request("POST", "/v1/admin/devices/revoke", {"device": name})
        self.page.wait_text("dialog", "Sign in")
        self.assertEqual(self.complaints(), [])

    def test_a_token_signs_in_and_is_kept_nowhere(self) -> None:
        name = self.unique("pasted")
        token = self.gateway.pair(name, ("operator",))
        self.enter(token)
        self.page.wait_text("header.top", f"caller/{name}")
        kept = self.page.run("return JSON.stringify(localStorage) + document.cookie + location")
        self.assertNotIn(token, kept)
        self.assertEqual(self.complaints(), [])

    def test_a13_a_caller_has_chat_alone_and_its_page_asks_for_nothing_else(self) -> None:
        name = self.unique("ann")
        self.enter(self.code(name, "caller"))
        self.page.wait_text("header.top", f"caller/{name}")
        self.page.wait_text("h1", "Chat")
        rail = "return [...document.querySelectorAll('nav.rail a')].map(a => a.innerText.trim())"
        self.assertEqual(self.page.run(rail), ["Chat"])
        self.page.open(f"{self.address}?page=settings")
        self.page.wait_text("h1", "Chat")
        self.page.click_button("New chat")
        self.page.wait_text(".conversation", "")
        self.assertEqual([line for line in self.page.complaints() if "403" in line], [])


if __name__ == "__main__":
    unittest.main()
