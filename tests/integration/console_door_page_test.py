"""The console of the public listener (`listen.console`) in a real browser: signing in with a key of
the browser's own, and what callers see."""

from __future__ import annotations

import contextlib
import json
import unittest
from collections.abc import Iterator
from typing import ClassVar

from support import browser
from support.browser import Browser
from support.case import GatewayCase
from support.device import tool
from support.push_service import PushService, SubscribedBrowser
from support.wait import eventually

#: The answer's status to a reload of the configuration, as the page asks for one.
RELOAD = """
    const request = new XMLHttpRequest();
    request.open("POST", "./api/v1/admin/reload", false);
    request.setRequestHeader("content-type", "application/json");
    request.setRequestHeader("crab-console-key", localStorage.getItem("crab-console-key"));
    request.send("{}");
    return request.status;
"""


#: Has the browser subscribe to a service of ours.
SUBSCRIBED = """
    const made = JSON.parse(arguments[0]);
    PushManager.prototype.getSubscription = () => Promise.resolve(null);
    PushManager.prototype.subscribe = () => Promise.resolve({toJSON: () => made});
"""

#: What the worker tells the page of a notice's button.
DENIED = """
    navigator.serviceWorker.dispatchEvent(
        new MessageEvent("message", {data: {kind: "deny", id: arguments[0]}}));
"""

#: The titles of the notices that are shown.
NOTICES = """
    return navigator.serviceWorker.ready.then((it) => it.getNotifications())
        .then((all) => all.map(({title}) => title));
"""

#: Notes when the card is over the page, in milliseconds from now on, and what is asked after it.
CARD = """
    const began = performance.now();
    window.crabAsked = 0;
    const real = window.fetch.bind(window);
    window.fetch = (...what) => {
        if (window.crabCard !== undefined) window.crabAsked += 1;
        return real(...what);
    };
    new MutationObserver((_, observer) => {
        if (!document.querySelector("dialog[open]")) return;
        window.crabCard = performance.now() - began;
        observer.disconnect();
    }).observe(document, {subtree: true, childList: true, attributes: true});
"""


class DoorPageCase(GatewayCase):
    """A gateway for each class: tries to sign in are counted."""

    page: ClassVar[Browser]
    service: ClassVar[PushService]

    @classmethod
    def setUpClass(cls) -> None:
        cls.service = cls.enterClassContext(PushService())
        cls.CONFIG = {
            "listen": {"console": "people"},
            "policy": [{"principal": "*", "call": {"needs_approval": ["sms*"]}}],
            "push": {"services": [cls.service.origin]},
        }
        super().setUpClass()
        cls.page = cls.enterClassContext(Browser())
        cls.address = f"http://localhost:{cls.gateway.public[1]}/console/"
        if b"without the console" in cls.gateway.fetch("GET", "/console/").body:
            raise unittest.SkipTest("built with CRAB_WEB=OFF")

    def setUp(self) -> None:
        self.forget()

    def forget(self) -> None:
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


@unittest.skipIf(browser.missing(), browser.missing())
class KeyPageTest(DoorPageCase):
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

    def test_a7_a_revoked_page_has_a_card_at_once_asks_no_more_and_loses_nothing(self) -> None:
        name, typed = self.unique("lost"), "caller/half-typed"
        self.enter(self.code(name, "operator"))
        self.page.wait_text("header.top", f"caller/{name}")
        self.page.open(f"{self.address}?page=policy")
        self.page.wait_text("h1", "Policy")
        self.page.type("main .policy-ask input", typed)
        self.page.run(CARD)
        self.gateway.admin_request("POST", "/v1/admin/devices/revoke", {"device": name})
        self.page.wait_text("dialog", "Sign in")
        self.assertLess(self.page.run("return window.crabCard"), 2_000)
        asked = "return new Promise(done => setTimeout(() => done(window.crabAsked), 4_000))"
        self.assertEqual(self.page.run(asked), 0)
        self.enter(self.code(name, "operator"))
        eventually(lambda: not self.page.has("dialog"), "it is signed in again", 30)
        value = "return document.querySelector('main .policy-ask input').value"
        self.assertEqual(self.page.run(value), typed)
        self.assertEqual(self.complaints(), [])

    def test_whoever_reads_german_is_asked_in_german_to_sign_in(self) -> None:
        self.page.run("localStorage.setItem('crab-language', 'de')")
        self.page.reload()
        self.page.wait_text("h1", "Anmelden")
        self.page.wait_text("main", "Kopplungscode oder Token")

    def test_a_link_with_a_pairing_code_signs_in_and_leaves_the_address(self) -> None:
        name = self.unique("scanned")
        code = self.code(name, "operator")
        self.page.open("about:blank")
        self.page.open(f"{self.address}#pair={code}")
        self.page.wait_text("header.top", f"caller/{name}")
        self.assertNotIn(code, self.page.run("return location.href"))
        self.assertEqual(self.page.run(RELOAD), 200, "it has a key of its own")
        other = self.code(self.unique("other"), "operator")
        self.page.open("about:blank")
        self.page.open(f"{self.address}#pair={other}")
        self.page.wait_text("header.top", f"caller/{name}")
        self.assertEqual(self.complaints(), [])


@unittest.skipIf(browser.missing(), browser.missing())
class PasskeyPageTest(DoorPageCase):
    def passkeys(self) -> None:
        """The dialog where people keep their passkeys."""
        self.page.click('button[aria-label="Looks and keys"]')
        self.page.wait_text("dialog", "Add a passkey")

    def test_a12_a_passkey_is_made_signs_in_steps_up_and_goes(self) -> None:
        self.page.add_authenticator(self)
        name = self.unique("keyless")
        self.enter(self.code(name, "operator"))
        self.page.wait_text("header.top", f"caller/{name}")
        self.passkeys()
        self.page.wait_text("dialog", "You have no passkey yet.")
        self.page.click_button("Add a passkey")
        self.page.wait_text("dialog ul", "This device")
        # The browser's own key is gone, and a token proves nothing: the passkey has to.
        self.forget()
        self.page.click_button("Sign in with a passkey")
        self.page.wait_text("header.top", f"caller/{name}")
        self.assertEqual(self.page.run(RELOAD), 200, "the passkey was proven by signing in")
        self.forget()
        self.enter(self.gateway.pair(name, ("operator",)))
        self.page.wait_text("header.top", f"caller/{name}")
        self.assertEqual(self.page.run(RELOAD), 403)
        self.passkeys()
        self.page.click('dialog button[aria-label="Remove the passkey This device"]')
        self.page.wait_text("dialog dialog h2", "Remove the passkey This device?")
        self.page.click("dialog dialog .danger")
        self.page.wait_text("dialog", "You have no passkey yet.")
        self.assertEqual(self.page.run(RELOAD), 403, "what it has proven went with it")
        self.assertEqual(self.complaints(), [])


@unittest.skipIf(browser.missing(), browser.missing())
class ConsoleDoorPageTest(DoorPageCase):
    def test_a_browser_is_told_of_calls_that_wait_and_shows_it(self) -> None:
        name = self.unique("told")
        self.enter(self.code(name, "operator"))
        self.page.wait_text("header.top", f"caller/{name}")
        self.page.devtools("Browser.grantPermissions", permissions=["notifications"])
        # The push service of the browser's maker is not asked: what a subscription is comes from
        # here, the rest is the page, its worker and the gateway.
        self.page.open(f"{self.address}?page=approvals")
        self.page.run(SUBSCRIBED, json.dumps(SubscribedBrowser(self.service).subscription()))
        self.page.click_button("Tell this browser")
        self.page.wait_text("main", "Stop telling it")
        rows = self.gateway.admin_request("GET", "/v1/admin/push/subscriptions").json()
        self.assertIn(f"caller/{name}", [it["principal"] for it in rows["subscriptions"]])
        said = {"kind": "approval", "id": "a1", "tool": "sms.send", "who": "caller/ci"}

        # Again and again: what comes before the browser has taken the permission in is not shown.
        def shown() -> list[str]:
            self.push(json.dumps(said))
            return self.page.run(NOTICES)

        eventually(shown, "it is shown", 20)
        self.assertEqual(shown(), ["Waits for you: sms.send"], "and once")
        self.page.click_button("Stop telling it")
        self.page.wait_text("main", "Tell this browser")
        self.assertEqual(self.complaints(), [])

    def test_the_button_of_a_notice_denies_in_the_page(self) -> None:
        name, sms = self.unique("denier"), self.unique("sms")
        self.enter(self.gateway.pair(name, ("operator",)))
        self.page.wait_text("header.top", f"caller/{name}")
        self.page.open(f"{self.address}?page=approvals")
        self.open().register(tool(sms))
        with self.attending():
            call = self.gateway.start_call(sms)
            (waiting,) = self.waiting()
            self.page.run(DENIED, waiting)
            answer = call.result(20)
        self.assertEqual(answer.error["details"]["approval"], "denied")
        self.page.wait_text("body", "The call is denied.")
        self.assertEqual(self.complaints(), [])

    @contextlib.contextmanager
    def attending(self) -> Iterator[None]:
        """With a subscription there is somebody to ask, whoever looks."""
        target = "/v1/admin/push/subscriptions"
        body = SubscribedBrowser(self.service).subscription()
        id = self.gateway.admin_request("POST", target, body).json()["id"]
        yield
        self.gateway.admin_request("DELETE", f"{target}/{id}")

    def waiting(self) -> list[str]:
        def ids() -> list[str]:
            answer = self.gateway.admin_request("GET", "/v1/admin/approvals").json()
            return [it["id"] for it in answer["approvals"]]

        return eventually(ids, "a call waits")

    def push(self, said: str) -> None:
        """A message comes from the push service."""
        worker = self.page.run("return navigator.serviceWorker.ready.then(it => it.scope)")
        self.assertEqual(worker, self.address)
        self.page.devtools("ServiceWorker.enable")
        origin = self.address.removesuffix("/console/")
        for registration in map(str, range(8)):  # its number is told by events alone
            with contextlib.suppress(AssertionError):
                self.page.devtools(
                    "ServiceWorker.deliverPushMessage",
                    origin=origin,
                    registrationId=registration,
                    data=said,
                )

    def test_a_token_signs_in_and_is_kept_nowhere(self) -> None:
        name = self.unique("pasted")
        token = self.gateway.pair(name, ("operator",))
        self.enter(token)
        self.page.wait_text("header.top", f"caller/{name}")
        kept = self.page.run(
            "return [localStorage, sessionStorage, history.state].map(it => JSON.stringify(it))"
            ".join() + document.cookie + location + document.title"
        )
        self.assertNotIn(token, kept)
        self.page.open(f"{self.address}?page=audit")
        self.page.wait_text("main", name)
        key = self.page.run("return localStorage.getItem('crab-console-key')")
        found = self.gateway.admin_request("GET", f"/v1/admin/audit?principal=caller/{name}")
        self.assertIn(name, found.body.decode())
        for secret in (token, key):
            self.assertNotIn(secret, self.gateway.log_tail(1 << 24))
            self.assertNotIn(secret, found.body.decode())
            self.assertNotIn(secret, self.page.run("return document.documentElement.outerHTML"))
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
