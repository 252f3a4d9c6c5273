"""`listen.console`: the console on the public listener. Who is let in, with what, for how long, and
what nobody gets."""

from __future__ import annotations

import json
import socket
import ssl
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar
from unittest import SkipTest

from support.case import GatewayCase
from support.device import Device, tool
from support.gateway import Gateway
from support.http import Response, fetch, request_bytes
from support.rtp import call_request
from support.stream import Stream
from support.wait import eventually
from support.websocket import Closed, Refused, WebSocket
from test_device_keys import Key, text
from test_tls_listener import tls_init

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from libcrypto import ed25519_sign  # noqa: E402
from scripted_model import ScriptedModel  # noqa: E402

STATUS = "api/v1/admin/status"


class Browser:
    """One browser at the door of a gateway; after sign_in() its requests bring both halves."""

    def __init__(self, gateway: Gateway, prefix: str = "") -> None:
        self.gateway, self.prefix = gateway, prefix
        self.cookie = self.key = ""
        self.host = f"localhost:{gateway.public[1]}"
        self.origin = f"http://{self.host}"

    def send(
        self, method: str, path: str, headers: dict[str, str] | None = None, body: Any = None
    ) -> Response:
        """One request as anybody could send it."""
        return self.gateway.fetch(
            method,
            f"{self.prefix}/console/{path}",
            headers={"Host": self.host, **(headers or {})},
            body=body,
        )

    def halves(self) -> dict[str, str]:
        return {"Cookie": self.cookie, "Crab-Console-Key": self.key}

    def request(self, method: str, path: str, body: Any = None, **more: str) -> Response:
        """As the page sends it."""
        page = {"Origin": self.origin, "Sec-Fetch-Site": "same-origin"}
        return self.send(method, path, {**self.halves(), **page, **more}, body)

    def sign_in(self, **credential: str) -> dict[str, Any]:
        answer = self.send("POST", "session", None, credential)
        assert answer.status == 200, answer.body
        self.key = answer.json()["key"]
        self.cookie = answer.headers["set-cookie"].split(";")[0]
        return answer.json()

    def signed(self, key: Key) -> dict[str, str]:
        """What `key` brings for a new challenge."""
        nonce = self.send("POST", "session/challenge").json()["nonce"]
        signature = ed25519_sign(key.seed, f"crab-device-v1\n{key.key_id}\n{nonce}".encode())
        return {"key_id": key.key_id, "nonce": nonce, "signature": text(signature)}

    def chat(self, ticket: str, **headers: str) -> WebSocket:
        own = {"Host": self.host, "Origin": self.origin, "Cookie": self.cookie}
        return WebSocket(
            self.gateway.public,
            f"{self.prefix}/console/api/ws/chat",
            headers={**own, **headers},
            subprotocols=(f"crab-ticket.{ticket}",),
        )


class DoorCase(unittest.TestCase):
    """A gateway for each test: tries to sign in are counted."""

    CONFIG: ClassVar[dict[str, Any]] = {"listen": {"console": "operators"}}

    def setUp(self) -> None:
        self.gateway = self.enterContext(Gateway(self.config()))
        self.browser = Browser(self.gateway)

    def config(self) -> dict[str, Any]:
        return self.CONFIG

    def operator(self, name: str = "owner") -> str:
        return self.gateway.pair(name, ("operator",))

    def key(self, name: str, role: str = "operator") -> Key:
        key = Key(self)
        offer = {"name": name, "roles": [role]}
        code = self.gateway.admin_request("POST", "/v1/admin/devices/pair", offer).json()["code"]
        answer = self.gateway.fetch(
            "POST", "/pair", headers={"X-Pairing-Code": code}, body={"public_key": key.spki}
        )
        self.assertEqual(answer.status, 200, answer.body)
        self.assertNotIn("token", answer.json())
        key.key_id = answer.json()["key_id"]
        return key

    def assert_refused(self, answer: Response, status: int, code: str) -> None:
        self.assertEqual((answer.status, answer.json()["code"]), (status, code), answer.body)


class OffTest(GatewayCase):
    def test_a9_there_is_no_such_path(self) -> None:
        token = self.gateway.pair("owner", ("operator",))
        for method, path in (
            ("GET", "/console/"),
            ("GET", "/console"),
            ("POST", "/console/session"),
            ("POST", "/console/session/challenge"),
            ("GET", "/console/api/v1/admin/status"),
            ("POST", "/console/api/v1/admin/reload"),
        ):
            body = {"token": token} if path == "/console/session" else None
            self.assertEqual(self.gateway.fetch(method, path, token, None, body).status, 404, path)


class NeedsTlsTest(unittest.TestCase):
    def test_a10_without_tls_it_is_for_this_machine_only(self) -> None:
        with self.assertRaises(Exception) as refused, Gateway(
            {"listen": {"public": "0.0.0.0:0", "console": "operators"}}
        ):
            pass
        self.assertIn("listen.tls", str(refused.exception))


class SignInTest(DoorCase):
    def test_a_token_is_exchanged_for_two_halves(self) -> None:
        token = self.operator()
        answer = self.browser.send("POST", "session", None, {"token": token})
        self.assertEqual(answer.status, 200, answer.body)
        self.assertRegex(
            answer.headers["set-cookie"],
            r"^crab-console-\d+=[\w-]{43}; Path=/console/; HttpOnly; SameSite=Strict$",
        )
        self.assertEqual(answer.headers["cache-control"], "no-store")
        self.assertNotIn(token, answer.body.decode())
        identity = self.browser.sign_in(token=token)
        self.assertEqual(identity["principal"], "caller/owner")
        self.assertEqual(identity["roles"], ["operator"])
        self.assertEqual(identity["may"], ["operate", "approve", "chat"])
        self.assertEqual(self.browser.request("GET", STATUS).status, 200)
        shown = self.browser.request("GET", "session").json()
        self.assertEqual(shown["principal"], "caller/owner")
        self.assertNotIn("key", shown)

    def test_who_is_no_operator_is_not_let_in(self) -> None:
        for name, roles in (
            ("ann", ("caller",)),
            ("phone", ("device", "caller")),
            ("scraper", ("metrics",)),
        ):
            token = self.gateway.pair(name, roles)
            answer = self.browser.send("POST", "session", None, {"token": token})
            self.assert_refused(answer, 403, "FORBIDDEN")
            self.assertNotIn("set-cookie", answer.headers)

    def test_what_is_no_credential_is_refused(self) -> None:
        revoked = self.gateway.pair("gone", ("operator",))
        self.gateway.admin_request("POST", "/v1/admin/devices/revoke", {"device": "gone"})
        for body, status in (
            ({"token": "0" * 64}, 401),
            ({"token": "x"}, 401),
            ({"token": revoked}, 401),
            ({"token": 5}, 400),
            ({}, 400),
            ([], 400),
        ):
            answer = self.browser.send("POST", "session", None, body)
            self.assertEqual(answer.status, status, (body, answer.body))

    def test_a_cookie_that_somebody_planted_becomes_no_session(self) -> None:
        planted = f"crab-console-0={'A' * 43}"
        answer = self.browser.send(
            "POST", "session", {"Cookie": planted}, {"token": self.operator()}
        )
        self.assertNotIn("A" * 43, answer.headers["set-cookie"])
        self.browser.key = answer.json()["key"]
        self.browser.cookie = planted
        self.assert_refused(self.browser.request("GET", STATUS), 401, "UNAUTHENTICATED")

    def test_signing_in_again_ends_the_session_before(self) -> None:
        token = self.operator()
        self.browser.sign_in(token=token)
        before = dict(self.browser.halves())
        again = self.browser.request("POST", "session", {"token": token})
        self.assertEqual(again.status, 200, again.body)
        self.assert_refused(self.browser.send("GET", STATUS, before), 401, "UNAUTHENTICATED")

    def test_signing_out_ends_it(self) -> None:
        self.browser.sign_in(token=self.operator())
        self.assertEqual(self.browser.request("DELETE", "session").status, 204)
        self.assert_refused(self.browser.request("GET", STATUS), 401, "UNAUTHENTICATED")


class TriesTest(DoorCase):
    def test_guessing_has_to_wait_and_keeps_nobody_out_who_is_in(self) -> None:
        self.browser.sign_in(token=self.operator())
        guesser = Browser(self.gateway)
        answers = [guesser.send("POST", "session", None, {"token": f"{i:064x}"}) for i in range(10)]
        self.assertEqual([it.status for it in answers], [401] * 9 + [429])
        self.assertIn("retry-after", answers[-1].headers)
        right = guesser.send("POST", "session", None, {"token": self.operator("other")})
        self.assertEqual(right.status, 429)
        self.assertEqual(self.browser.request("GET", STATUS).status, 200)


class RefusalTest(DoorCase):
    ROUTES = (
        ("GET", "session"),
        ("DELETE", "session"),
        ("POST", "session/ticket"),
        ("GET", STATUS),
        ("POST", "api/v1/admin/reload"),
        ("GET", "api/metrics"),
        ("GET", "api/"),
    )

    def setUp(self) -> None:
        super().setUp()
        self.browser.sign_in(token=self.operator())

    def assert_all_refused(self, headers: dict[str, str], status: int, code: str) -> None:
        for method, path in self.ROUTES:
            answer = self.browser.send(method, path, headers)
            self.assertEqual(
                (answer.status, answer.json()["code"]), (status, code), (path, headers)
            )

    def test_a4_a_stolen_half_a_token_or_none(self) -> None:
        cookie, key = self.browser.cookie, self.browser.key
        other = Browser(self.gateway)
        other.sign_in(token=self.operator("other"))
        for headers in (
            {},
            {"Cookie": cookie},
            {"Crab-Console-Key": key},
            {"Cookie": cookie, "Crab-Console-Key": other.key},
            {"Cookie": other.cookie, "Crab-Console-Key": key},
            {"Cookie": f"{cookie}; {cookie}", "Crab-Console-Key": key},
            {"Authorization": f"Bearer {self.operator('bearer')}"},
            {"Crab-Acting": "1.00"},
        ):
            self.assert_all_refused(headers, 401, "UNAUTHENTICATED")

    def test_foreign_hosts_origins_and_sites_whatever_a_proxy_says(self) -> None:
        good = self.browser.halves()
        own = self.browser.host
        for extra in (
            {"Host": "rebound.example"},
            {"Host": "rebound.example", "X-Forwarded-Host": own, "Forwarded": f"host={own}"},
            {"Origin": "https://evil.example"},
            {"Origin": f"https://{own}"},
            {"Origin": "http://localhost:1"},
            {"Origin": "null"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
            {"Sec-Fetch-Site": "none"},
        ):
            self.assert_all_refused({**good, **extra}, 403, "FORBIDDEN")
        for extra in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
            for path in ("", "session/challenge", "session"):
                method = "GET" if path == "" else "POST"
                self.assert_refused(self.browser.send(method, path, extra), 403, "FORBIDDEN")

    def test_a_form_of_another_page_writes_nothing(self) -> None:
        answer = self.browser.send(
            "POST",
            "api/v1/admin/tools/check",
            {**self.browser.halves(), "Content-Type": "text/plain"},
            b'{"tool":"x"}',
        )
        self.assert_refused(answer, 403, "FORBIDDEN")

    def test_bodies_without_a_session_are_not_read_and_sign_ins_are_small(self) -> None:
        for path, status in (("api/v1/tools/call", b" 401 "), ("session", b" 413 ")):
            with closing(Stream(self.gateway.public)) as stream:
                fields = {"Content-Type": "application/json", "Content-Length": "10000000"}
                stream.send(
                    request_bytes("POST", f"/console/{path}", fields, None, self.browser.host)
                )
                self.assertIn(status, stream.read_until(b"\r\n"))

    def test_the_gateway_is_not_reached_by_other_paths(self) -> None:
        for path in ("../v1/admin/status", "api/../../v1/admin/status", "..%2fv1/admin/status"):
            self.assertIn(self.browser.request("GET", path).status, (400, 404), path)

    def test_nobody_acts_for_a_session_by_a_field(self) -> None:
        for value in ("", "1", "1.", f"1.{'0' * 64}", "x" * 500):
            fields = {"Crab-Acting": value}
            answer = fetch(self.gateway.admin, "GET", "/v1/admin/status", fields)
            self.assertEqual(answer.status, 401, value)


class EndTest(DoorCase):
    def test_a7_a_revoked_token_ends_its_sessions_and_what_runs_in_them(self) -> None:
        self.browser.sign_in(token=self.operator("lost"))
        with closing(Stream(self.gateway.public)) as stream:
            fields = {**self.browser.halves(), "Accept": "text/event-stream"}
            stream.send(
                request_bytes("GET", "/console/api/v1/events", fields, None, self.browser.host)
            )
            self.assertIn(b" 200 ", stream.read_until(b"\r\n\r\n"))
            self.gateway.admin_request("POST", "/v1/admin/devices/revoke", {"device": "lost"})
            self.assert_refused(self.browser.request("GET", STATUS), 401, "UNAUTHENTICATED")
            stream.read_to_end()

    def test_a7_a_request_that_its_session_does_not_outlive_is_refused_as_one_without(self) -> None:
        self.browser.sign_in(token=self.operator("lost"))
        device = Device(self.gateway, self.gateway.pair("lamp"))
        self.addCleanup(device.cut)
        device.register(tool("light"))
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(
                self.browser.request, "POST", "api/v1/tools/call", call_request("light")
            )
            device.next_call("light")
            self.gateway.admin_request("POST", "/v1/admin/devices/revoke", {"device": "lost"})
            self.assert_refused(answer.result(20), 401, "UNAUTHENTICATED")

    def test_a6_a_restart_signs_nobody_out_but_who_was_revoked(self) -> None:
        with Gateway(self.CONFIG) as gateway:
            stays, leaves = Browser(gateway), Browser(gateway)
            stays.sign_in(token=gateway.pair("stays", ("operator",)))
            leaves.sign_in(token=gateway.pair("leaves", ("operator",)))
            self.assertEqual(leaves.request("DELETE", "session").status, 204)
            gateway.stop()
            gateway.start()
            for browser in (stays, leaves):
                browser.host = f"localhost:{gateway.public[1]}"
                browser.origin = f"http://{browser.host}"
            self.assertEqual(stays.request("GET", STATUS).status, 200)
            self.assertEqual(leaves.request("GET", STATUS).status, 401)

    def test_a_reload_that_turns_it_off_ends_everything_at_once(self) -> None:
        with Gateway(self.CONFIG) as gateway:
            browser = Browser(gateway)
            browser.sign_in(token=gateway.pair("owner", ("operator",)))
            gateway.reload({"listen": {"console": "off"}})
            eventually(lambda: browser.request("GET", STATUS).status == 404, "it is off")
            self.assertEqual(browser.send("GET", "").status, 404)
            gateway.reload({"listen": {"console": "operators"}})
            eventually(lambda: browser.request("GET", STATUS).status == 401, "it is on again")


class PeopleTest(DoorCase):
    def config(self) -> dict[str, Any]:
        model = self.enterContext(ScriptedModel())
        return {
            "listen": {"console": "people"},
            "models": [{"model": "parrot", "provider": "scripted", "url": model.url}],
            "agents": [{"name": "butler", "models": ["parrot"]}],
        }

    def test_a13_callers_have_chat_and_nothing_else(self) -> None:
        identity = self.browser.sign_in(token=self.gateway.pair("ann", ("caller",)))
        self.assertEqual(identity["may"], ["chat"])
        self.assertEqual(self.browser.request("GET", "api/api/sessions").status, 200)
        for method, path in (
            ("GET", STATUS),
            ("GET", "api/metrics"),
            ("GET", "api/v1/events"),
            ("POST", "api/v1/admin/reload"),
            ("POST", "api/v1/tools/call"),
            ("GET", "api/api/sessions/..%2f..%2fv1"),
        ):
            answer = self.browser.request(method, path)
            self.assertIn(answer.status, (403, 404), path)
            if ".." not in path:
                self.assert_refused(answer, 403, "FORBIDDEN")

    def test_a_caller_is_told_the_names_of_agents_and_chats_with_one(self) -> None:
        self.browser.sign_in(token=self.gateway.pair("dan", ("caller",)))
        listed = self.browser.request("GET", "api/api/agents").json()
        self.assertEqual(listed, {"agents": [{"name": "butler"}]})
        self.assert_refused(self.browser.request("GET", "api/v1/admin/agents"), 403, "FORBIDDEN")

    def test_a_chat_is_the_callers_own(self) -> None:
        self.browser.sign_in(token=self.gateway.pair("bob", ("caller",)))
        ticket = self.browser.request("POST", "session/ticket").json()["ticket"]
        chat = self.browser.chat(ticket)
        self.addCleanup(chat.stream.close)
        started = json.loads(chat.receive_text())
        self.assertEqual(started["type"], "session_start")
        target = f"api/api/sessions/{started['session_id']}"
        renamed = self.browser.request("PUT", target, {"name": "Kitchen"})
        self.assertNotEqual(renamed.status, 403, renamed.body)
        with self.assertRaises(Refused):
            self.browser.chat(ticket)
        fresh = self.browser.request("POST", "session/ticket").json()["ticket"]
        with self.assertRaises(Refused):
            self.browser.chat(fresh, Origin="https://evil.example")
        self.gateway.admin_request("POST", "/v1/admin/devices/revoke", {"device": "bob"})
        with self.assertRaises(Closed):
            while True:
                chat.receive_text()

    def test_one_person_does_not_take_all_places_for_chats(self) -> None:
        self.browser.sign_in(token=self.gateway.pair("greedy", ("caller",)))
        other = Browser(self.gateway)
        other.sign_in(token=self.gateway.pair("modest", ("caller",)))

        def opened(browser: Browser) -> bool:
            ticket = browser.request("POST", "session/ticket").json()["ticket"]
            try:
                self.addCleanup(browser.chat(ticket).stream.close)
            except Refused as refused:
                self.assertEqual(refused.response.status, 429)
                return False
            return True

        answers = [opened(self.browser) for _ in range(33)]  # 16 on each of two event loops
        self.assertIn(False, answers)
        self.assertGreaterEqual(answers.count(True), 16)
        self.assertTrue(opened(other))


class StepUpTest(DoorCase):
    def test_a14_a_token_is_not_enough_for_what_a_thief_would_do(self) -> None:
        key = self.key("me")
        self.browser.sign_in(token=self.operator("me"))
        reload = ("POST", "api/v1/admin/reload")
        self.assert_refused(self.browser.request(*reload), 403, "AUTH_REQUIRED")
        offer = {"name": "x", "roles": ["operator"]}
        pair = self.browser.request("POST", "api/v1/admin/devices/pair", offer)
        self.assert_refused(pair, 403, "AUTH_REQUIRED")
        told = self.browser.request("POST", "api/v1/admin/push/subscriptions", {})
        self.assert_refused(told, 403, "AUTH_REQUIRED")
        proof = self.browser.signed(key)
        self.assertEqual(self.browser.request("POST", "session/proof", proof).status, 204)
        replayed = self.browser.request("POST", "session/proof", proof)
        self.assert_refused(replayed, 403, "AUTH_REQUIRED")
        self.assertEqual(self.browser.request(*reload).status, 200)

    def test_a11_a_key_signs_in_and_is_proven_by_that(self) -> None:
        key = self.key("keyed")
        identity = self.browser.sign_in(**self.browser.signed(key))
        self.assertEqual(identity["principal"], "caller/keyed")
        self.assertEqual(self.browser.request("POST", "api/v1/admin/reload").status, 200)
        token = self.gateway.fetch("POST", "/device/token", body=self.browser.signed(key))
        self.assertNotEqual(token.status, 200, "such a key is exchanged for no bearer token")

    def test_a_thief_makes_no_key_that_proves_enough(self) -> None:
        self.browser.sign_in(token=self.operator("robbed"))
        offer = {"name": "robbed", "roles": ["caller"]}
        self.assertEqual(
            self.browser.request("POST", "api/v1/admin/devices/pair", offer).status, 200
        )
        lesser = self.key("robbed", "caller")
        answer = self.browser.request("POST", "session/proof", self.browser.signed(lesser))
        self.assert_refused(answer, 403, "FORBIDDEN")
        self.assertEqual(self.browser.request("POST", "api/v1/admin/reload").status, 403)
        answer = self.browser.request("POST", "api/v1/admin/console/sessions", {"change": "opened"})
        self.assert_refused(answer, 403, "FORBIDDEN")

    def test_a_revoked_key_proves_nothing_any_more_and_ends_its_own_sessions(self) -> None:
        key, keyed = self.key("twice"), Browser(self.gateway)
        self.browser.sign_in(token=self.operator("twice"))
        keyed.sign_in(**keyed.signed(key))
        proof = self.browser.signed(key)
        self.assertEqual(self.browser.request("POST", "session/proof", proof).status, 204)
        self.assertEqual(self.browser.request("POST", "api/v1/admin/reload").status, 200)
        revoked = self.gateway.admin_request(
            "POST", "/v1/admin/devices/revoke", {"token_id": key.key_id}
        )
        self.assertEqual(revoked.status, 200, revoked.body)
        self.assert_refused(keyed.request("GET", STATUS), 401, "UNAUTHENTICATED")
        self.assertEqual(self.browser.request("GET", STATUS).status, 200)
        reload = self.browser.request("POST", "api/v1/admin/reload")
        self.assert_refused(reload, 403, "AUTH_REQUIRED")

    def test_the_key_of_somebody_else_proves_nothing(self) -> None:
        other = self.key("somebody")
        self.browser.sign_in(token=self.operator("else"))
        answer = self.browser.request("POST", "session/proof", self.browser.signed(other))
        self.assert_refused(answer, 403, "FORBIDDEN")
        self.assertEqual(self.browser.request("POST", "api/v1/admin/reload").status, 403)


class AuditTest(DoorCase):
    def test_sessions_and_changes_are_recorded_as_whoever_is_signed_in(self) -> None:
        self.browser.sign_in(token=self.operator("auditor"))
        self.browser.send("POST", "session", None, {"token": "0" * 64})
        self.browser.request("POST", "api/v1/admin/devices/pair", {"name": "phone"})
        self.browser.request("DELETE", "session")

        def records(event: str) -> list[dict[str, Any]]:
            target = f"/v1/admin/audit?event={event}"
            return self.gateway.admin_request("GET", target).json()["records"]

        def ends() -> set[tuple[str, str]]:
            found = records("console.session.*")
            return {(it["event"].split(".")[-1], it.get("principal", "")) for it in found}

        wanted = {("opened", "caller/auditor"), ("ended", "caller/auditor"), ("refused", "")}
        eventually(lambda: ends() == wanted, "sessions are recorded")
        mine = [it for it in records("admin.change") if it["principal"] == "caller/auditor"]
        self.assertEqual(
            [(it["front"], it["path"]) for it in mine], [("console", "/v1/admin/devices/pair")]
        )


class TlsTest(unittest.TestCase):
    def test_over_tls_the_cookie_goes_over_nothing_else(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory())) / "tls"
        made = tls_init("--dir", str(folder), "--name", "localhost", "--name", "127.0.0.1")
        listen = {"console": "operators", "tls": {"cert": made["cert"], "key": made["key"]}}
        with Gateway({"listen": listen}) as gateway:
            token = gateway.pair("owner", ("operator",))
            context = ssl.create_default_context(cafile=made["ca"])
            body = json.dumps({"token": token}).encode()
            host = f"localhost:{gateway.public[1]}"
            fields = {"Content-Type": "application/json", "Connection": "close"}
            with context.wrap_socket(
                socket.create_connection(gateway.public, 10), server_hostname="localhost"
            ) as link:
                link.sendall(request_bytes("POST", "/console/session", fields, body, host))
                data = b""
                while part := link.recv(65536):
                    data += part
            self.assertIn(b" 200 ", data.split(b"\r\n")[0])
            self.assertRegex(
                data.decode(),
                r"__Secure-crab-console-\d+=[\w-]{43}; Path=/console/; HttpOnly; "
                r"SameSite=Strict; Secure\r",
            )


class PairTest(unittest.TestCase):
    def test_a_qr_code_opens_the_console_on_a_phone_that_reaches_it(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory())) / "tls"
        made = tls_init("--dir", str(folder), "--name", "home.example", "--name", "127.0.0.1")
        listen = {
            "console": "operators",
            "host_names": ["home.example"],
            "tls": {"cert": made["cert"], "key": made["key"]},
        }
        with Gateway({"listen": listen}) as gateway:
            shown = gateway.crab("devices", "pair", "--console", "--qr", "--name", "me")
            page = (
                rf"https://home\.example:{gateway.public[1]}/console/#pair=\d{{4}}-\d{{4}}-\d{{4}}"
            )
            self.assertRegex(shown, page)
            self.assertIn("\u2588", shown, "half blocks of the picture")
            self.assertIn("with the role operator", shown)
            self.assertNotIn("crab devices run", shown)
            reader = gateway.crab("devices", "pair", "--console", "--role", "caller")
            self.assertIn("with the role caller", reader)
            for body, status in (
                ({"console": True}, 400),
                ({"console": True, "roles": ["device", "caller"]}, 400),
                ({"console": True, "roles": ["caller"]}, 200),
            ):
                answer = gateway.admin_request("POST", "/v1/admin/devices/pair", body)
                self.assertEqual(answer.status, status, answer.body)

    def test_while_the_console_is_shut_no_code_leads_to_it(self) -> None:
        with Gateway() as gateway:
            body = {"console": True, "roles": ["operator"]}
            answer = gateway.admin_request("POST", "/v1/admin/devices/pair", body)
            self.assertEqual((answer.status, answer.json()["code"]), (409, "CONFLICT"))
            self.assertIn("listen.console", answer.json()["error"])


class ProxyTest(unittest.TestCase):
    def test_behind_a_proxy_that_ends_tls_the_page_is_of_the_named_origin(self) -> None:
        listen = {
            "console": "operators",
            "path_prefix": "/crab",
            "host_names": ["home.example"],
            "allowed_origins": ["https://home.example", "https://other.example"],
        }
        with Gateway({"listen": listen}) as gateway:
            token = gateway.pair("owner", ("operator",))
            browser = Browser(gateway, "/crab")
            browser.host, browser.origin = "home.example", "https://home.example"
            answer = browser.request("POST", "session", {"token": token})
            self.assertEqual(answer.status, 200, answer.body)
            self.assertRegex(answer.headers["set-cookie"], r"; Path=/crab/console/; .*; Secure$")
            browser.cookie = answer.headers["set-cookie"].split(";")[0]
            browser.key = answer.json()["key"]
            self.assertEqual(browser.request("GET", STATUS).status, 200)
            ticket = browser.request("POST", "session/ticket").json()["ticket"]
            for origin in ("https://other.example", "http://home.example", "https://evil.example"):
                refused = browser.request("GET", STATUS, Origin=origin)
                self.assertEqual(refused.status, 403, origin)
                with self.assertRaises(Refused):
                    browser.chat(ticket, Origin=origin)

    def test_tries_are_those_of_whom_the_proxy_passes_on_for(self) -> None:
        listen = {
            "console": "operators",
            "host_names": ["home.example"],
            "allowed_origins": ["https://home.example"],
        }
        with Gateway({"listen": listen}) as gateway:
            browser = Browser(gateway)
            browser.host = "home.example"

            def tried(passed_on_for: str) -> int:
                fields = {"X-Forwarded-For": passed_on_for}
                return browser.send("POST", "session", fields, {"token": "0" * 64}).status

            self.assertEqual({tried("192.0.2.1") for _ in range(10)}, {401})
            self.assertEqual(tried("192.0.2.1"), 429)
            self.assertEqual(tried("198.51.100.7, 192.0.2.1"), 429, "the last is the proxy's word")
            self.assertEqual(tried("192.0.2.1, 198.51.100.7"), 401)
            self.assertEqual(tried("2001:db8::1"), 401)
            # what is no address counts with the proxy itself
            self.assertEqual({tried("nobody") for _ in range(10)}, {401})
            self.assertEqual(tried("nobody else"), 429)
            # all that comes by a proxy has a limit, too
            answers = [tried(f"203.0.113.{i}") for i in range(120)]
            self.assertEqual(answers[-1], 429)


class FilesTest(DoorCase):
    def test_the_page_is_served_with_its_policy(self) -> None:
        page = self.browser.send("GET", "")
        if page.status == 404 and b"without the console" in page.body:
            raise SkipTest("built with CRAB_WEB=OFF")
        self.assertEqual(page.status, 200)
        self.assertIn(
            f"connect-src 'self' ws://{self.browser.host};",
            page.headers["content-security-policy"],
        )
        self.assertEqual(page.headers["x-frame-options"], "DENY")
        way = self.gateway.fetch("GET", "/console", headers={"Host": self.browser.host})
        self.assertEqual((way.status, way.headers["location"]), (308, "/console/"))


if __name__ == "__main__":
    unittest.main()
