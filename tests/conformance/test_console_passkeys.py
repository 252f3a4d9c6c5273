"""Passkeys at `listen.console`: who gets one, what it is good for, and what nobody gets in with."""

from __future__ import annotations

from typing import Any

from support.gateway import Gateway
from support.http import Response
from support.passkey import Passkey
from test_console_door import STATUS, Browser, DoorCase
from test_device_keys import Key

PASSKEYS = "session/passkeys"
RELOAD = ("POST", "api/v1/admin/reload")


class PasskeyCase(DoorCase):
    CONFIG = {"listen": {"console": "people"}}

    def key(self, name: str, role: str) -> Key:
        """A browser's own key, paired with a code."""
        key = Key(self)
        offer = {"name": name, "roles": [role]}
        code = self.gateway.admin_request("POST", "/v1/admin/devices/pair", offer).json()["code"]
        key.key_id = self.gateway.fetch(
            "POST", "/pair", headers={"X-Pairing-Code": code}, body={"public_key": key.spki}
        ).json()["key_id"]
        return key

    def challenge(self, browser: Browser) -> dict[str, Any]:
        answer = browser.request("POST", f"{PASSKEYS}/challenge")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def add(self, passkey: Passkey, browser: Browser | None = None) -> Response:
        browser = browser or self.browser
        told = self.challenge(browser)
        made = passkey.create(told["challenge"])
        passkey.user = told["user"]["id"]
        return browser.request("POST", PASSKEYS, made)

    def owner_with_passkey(self, name: str = "owner", role: str = "operator") -> Passkey:
        """One of whoever is signed in by their browser's key afterwards."""
        self.browser.sign_in(**self.browser.signed(self.key(name, role)))
        passkey = Passkey(self.browser.origin)
        added = self.add(passkey)
        self.assertEqual(added.status, 201, added.body)
        return passkey

    def answer(self, passkey: Passkey, browser: Browser) -> dict[str, Any]:
        return passkey.answer(self.challenge(browser)["challenge"])


class SignInTest(PasskeyCase):
    def test_a12_a_passkey_signs_in_as_its_owner_and_is_proven_by_that(self) -> None:
        passkey, other = self.owner_with_passkey(), Browser(self.gateway)
        told = self.challenge(other)
        self.assertEqual(told["rp_id"], "localhost")
        self.assertNotIn("known", told, "nobody is told of anybody's passkeys")
        identity = other.sign_in(**passkey.answer(told["challenge"]))
        self.assertEqual(identity["principal"], "caller/owner")
        self.assertEqual(identity["roles"], ["operator"])
        self.assertEqual(other.request(*RELOAD).status, 200)

    def test_a_passkey_outlives_a_restart_and_ends_with_its_owner(self) -> None:
        with Gateway(self.CONFIG) as gateway:
            self.gateway, self.browser = gateway, Browser(gateway)
            passkey = self.owner_with_passkey()
            gateway.stop()
            gateway.start()
            later = Browser(gateway)
            passkey.origin = later.origin
            later.sign_in(**self.answer(passkey, later))
            gateway.admin_request("POST", "/v1/admin/devices/revoke", {"device": "owner"})
            self.assert_refused(later.request("GET", STATUS), 401, "UNAUTHENTICATED")
            refused = later.send("POST", "session", None, self.answer(passkey, later))
            self.assert_refused(refused, 401, "UNAUTHENTICATED")

    def assert_nobody_gets_in(self, with_what: dict[str, Any], status: int = 401) -> None:
        refused = Browser(self.gateway).send("POST", "session", None, with_what)
        code = {400: "INVALID_ARGS", 401: "UNAUTHENTICATED"}[status]
        self.assert_refused(refused, status, code)
        self.assertNotIn("set-cookie", refused.headers)

    def test_forged_and_foreign_answers_are_refused(self) -> None:
        passkey, nobody = self.owner_with_passkey(), Browser(self.gateway)
        forger = Passkey(self.browser.origin)
        forger.id, forger.user = passkey.id, passkey.user
        foreign = Passkey("https://evil.example")
        foreign.id, foreign.seed, foreign.user = passkey.id, passkey.seed, passkey.user
        unverified = Passkey(self.browser.origin)
        unverified.id, unverified.seed, unverified.user = passkey.id, passkey.seed, passkey.user
        unverified.flags = 0x01
        stranger = Passkey(self.browser.origin)
        for wrong in (forger, foreign, unverified, stranger):
            self.assert_nobody_gets_in(self.answer(wrong, nobody))
        self.assert_nobody_gets_in({"passkey": {"id": "a"}}, 400)
        Browser(self.gateway).sign_in(**self.answer(passkey, nobody))

    def test_another_program_of_the_host_gets_no_challenge_for_its_own_page(self) -> None:
        passkey = self.owner_with_passkey()
        other = Browser(self.gateway)
        port = 1 + int(other.origin.rpartition(":")[2]) % 65_535
        other.host = f"localhost:{port}"
        other.origin = f"http://{other.host}"
        refused = other.send("POST", "session/passkeys/challenge", None)
        self.assert_refused(refused, 409, "CONFLICT")
        # not either with the challenge of an honest request
        challenge = self.challenge(Browser(self.gateway))["challenge"]
        stolen = Passkey(other.origin)
        stolen.id, stolen.seed, stolen.user = passkey.id, passkey.seed, passkey.user
        refused = other.send("POST", "session", None, stolen.answer(challenge))
        self.assert_refused(refused, 409, "CONFLICT")

    def test_a_challenge_is_good_once_and_where_it_was_asked_for(self) -> None:
        passkey, nobody = self.owner_with_passkey(), Browser(self.gateway)
        right = self.answer(passkey, nobody)
        Browser(self.gateway).sign_in(**right)
        self.assert_nobody_gets_in(right)
        self.assert_nobody_gets_in(passkey.answer("0" * 96))
        self.assert_nobody_gets_in(self.answer(passkey, self.browser))  # asked for in a session
        other = Browser(self.gateway)
        other.sign_in(token=self.operator("owner"))
        for asker in (self.browser, nobody):
            proof = other.request("POST", "session/proof", self.answer(passkey, asker))
            self.assert_refused(proof, 403, "AUTH_REQUIRED")

    def test_who_signs_in_says_who_they_are(self) -> None:
        passkey, nobody = self.owner_with_passkey(), Browser(self.gateway)
        nameless = self.answer(passkey, nobody)
        del nameless["passkey"]["user_handle"]
        self.assert_nobody_gets_in(nameless)
        passkey.user = "0" * 32
        self.assert_nobody_gets_in(self.answer(passkey, nobody))

    def test_a_copy_gives_itself_away_by_its_counter(self) -> None:
        passkey, other = self.owner_with_passkey(), Browser(self.gateway)
        passkey.count = 5
        other.sign_in(**self.answer(passkey, other))
        passkey.count = 4
        self.assert_nobody_gets_in(self.answer(passkey, Browser(self.gateway)))

    def test_at_an_address_there_are_none_and_the_answer_says_so(self) -> None:
        self.browser.host = f"127.0.0.1:{self.gateway.public[1]}"
        answer = self.browser.send("POST", f"{PASSKEYS}/challenge")
        self.assert_refused(answer, 409, "CONFLICT")
        self.assertIn("by a name", answer.json()["error"])


class StepUpTest(PasskeyCase):
    def test_a14_a_passkey_proves_enough_for_what_a_thief_would_do(self) -> None:
        passkey = self.owner_with_passkey()
        self.browser.sign_in(token=self.operator("owner"))
        self.assert_refused(self.browser.request(*RELOAD), 403, "AUTH_REQUIRED")
        proof = self.answer(passkey, self.browser)
        self.assertEqual(self.browser.request("POST", "session/proof", proof).status, 204)
        self.assertEqual(self.browser.request(*RELOAD).status, 200)
        again = self.browser.request("POST", "session/proof", proof)
        self.assert_refused(again, 403, "AUTH_REQUIRED")

    def test_a_token_alone_gets_no_passkey_and_removes_none(self) -> None:
        self.owner_with_passkey()
        key_id = self.browser.request("GET", PASSKEYS).json()["passkeys"][0]["key_id"]
        for roles in (("operator",), ("caller",)):
            thief = Browser(self.gateway)
            thief.sign_in(token=self.gateway.pair("owner", roles))
            self.assertFalse(self.challenge(thief)["proven"])
            mine = Passkey(thief.origin)
            self.assert_refused(self.add(mine, thief), 403, "AUTH_REQUIRED")
            removed = thief.request("DELETE", f"{PASSKEYS}/{key_id}")
            self.assert_refused(removed, 403, "AUTH_REQUIRED")
            refused = thief.send("POST", "session", None, self.answer(mine, thief))
            self.assert_refused(refused, 401, "UNAUTHENTICATED")

    def test_the_passkey_of_somebody_else_proves_nothing(self) -> None:
        passkey = self.owner_with_passkey("somebody")
        self.browser.sign_in(token=self.operator("else"))
        proof = self.answer(passkey, self.browser)
        answer = self.browser.request("POST", "session/proof", proof)
        self.assert_refused(answer, 403, "FORBIDDEN")

    def test_a_caller_has_passkeys_too_and_they_are_callers(self) -> None:
        passkey, other = self.owner_with_passkey("ann", "caller"), Browser(self.gateway)
        identity = other.sign_in(**self.answer(passkey, other))
        self.assertEqual((identity["principal"], identity["may"]), ("caller/ann", ["chat"]))
        self.assert_refused(other.request("GET", STATUS), 403, "FORBIDDEN")


class KeepingTest(PasskeyCase):
    def test_they_are_listed_to_their_owner_and_end_when_removed(self) -> None:
        passkey, other = self.owner_with_passkey(), Browser(self.gateway)
        other.sign_in(**self.answer(passkey, other))
        listed = self.browser.request("GET", PASSKEYS).json()["passkeys"]
        self.assertEqual([(it["label"], it["rp_id"]) for it in listed], [("test", "localhost")])
        self.assertEqual(self.challenge(self.browser)["known"], [listed[0]["id"]])
        ann = Browser(self.gateway)
        ann.sign_in(**ann.signed(self.key("ann", "caller")))
        self.assertEqual(ann.request("GET", PASSKEYS).json(), {"passkeys": []})
        foreign = ann.request("DELETE", f"{PASSKEYS}/{listed[0]['key_id']}")
        self.assert_refused(foreign, 404, "NOT_FOUND")
        gone = self.browser.request("DELETE", f"{PASSKEYS}/{listed[0]['key_id']}")
        self.assertEqual(gone.status, 204, gone.body)
        self.assert_refused(other.request("GET", STATUS), 401, "UNAUTHENTICATED")
        refused = other.send("POST", "session", None, self.answer(passkey, other))
        self.assert_refused(refused, 401, "UNAUTHENTICATED")

    def test_additions_and_removals_are_recorded(self) -> None:
        self.owner_with_passkey("auditor")
        key_id = self.browser.request("GET", PASSKEYS).json()["passkeys"][0]["key_id"]
        self.browser.request("DELETE", f"{PASSKEYS}/{key_id}")
        target = "/v1/admin/audit?event=console.passkey.*"
        records = self.gateway.admin_request("GET", target).json()["records"]
        self.assertEqual(
            sorted((it["event"], it["principal"]) for it in records),
            [
                ("console.passkey.added", "caller/auditor"),
                ("console.passkey.removed", "caller/auditor"),
            ],
        )

    def test_a_registration_that_is_none_adds_nothing(self) -> None:
        self.owner_with_passkey()
        passkey = Passkey(self.browser.origin)
        challenge = self.challenge(self.browser)["challenge"]
        right = passkey.create(challenge)
        foreign = Passkey("https://evil.example")
        for wrong, status in (
            ({**right, "public_key": "AAAA"}, 400),
            ({**right, "id": "AAAA"}, 400),
            ({**right, "label": ""}, 400),
            ({**right, "label": "a\u0007"}, 400),
            (foreign.create(challenge), 403),
            (passkey.create("0" * 96), 403),
            ({}, 400),
        ):
            answer = self.browser.request("POST", PASSKEYS, wrong)
            self.assertEqual(answer.status, status, (wrong, answer.body))
        self.assertEqual(len(self.browser.request("GET", PASSKEYS).json()["passkeys"]), 1)
