"""The gateway as an OAuth client of MCP servers: docs/protocols/mcp.md, sections 6.3 and 6.4."""

from __future__ import annotations

import json
import stat
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from support.browser_login import LoginRefused, begin_login, end_login, get, log_in
from support.gateway import Gateway
from support.guarded_server import GuardedServer
from support.issuer import Issuer
from support.rtp import call_request
from support.wait import eventually

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))
from mcp_client import LegacyClient, ModernClient  # noqa: E402
from mcp_links import HttpLink  # noqa: E402

CANARY = "canary-7f3a91"


class LoginCase(unittest.TestCase):
    """An issuer and a server that trusts it; a gateway per test."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.issuer = self.enterContext(Issuer(self.folder))
        self.server = self.enterContext(GuardedServer(self.issuer))

    def open(self, auth: dict[str, Any] | None = None, **more: Any) -> Gateway:
        server = {"url": self.server.url, **({"auth": auth} if auth else {})}
        config = {"mcp": {"servers": {"notes": server}, **more}}
        return self.enterContext(Gateway(config))

    def client(self, gateway: Gateway, caller: str, **headers: str) -> LegacyClient:
        token = gateway.caller_token(caller)
        url = f"http://localhost:{gateway.public[1]}/mcp"
        client = LegacyClient(HttpLink(url, {"Authorization": f"Bearer {token}", **headers}))
        client.open()
        return client

    def call(self, gateway: Gateway, tool: str = "who") -> dict[str, Any]:
        """A call of this machine's user."""
        return gateway.admin_request("POST", "/v1/tools/call", call_request(tool, {})).json()

    def robot(self, **more: str) -> dict[str, Any]:
        """`auth` with client credentials."""
        client = {"issuer": self.issuer.url, "client_id": "robot"}
        return {"client_credentials": {**client, **more}}

    def state(self, gateway: Gateway) -> dict[str, Any]:
        return gateway.admin_request("GET", "/v1/mcp/servers").json()["servers"][0]

    def await_state(self, gateway: Gateway, wanted: str) -> dict[str, Any]:
        def there() -> bool:
            state = self.state(gateway)
            return state["state"] == wanted and (wanted != "ready" or state["tools"] > 0)

        eventually(there, f"the server is {wanted}")
        return self.state(gateway)

    def said(self, result: dict[str, Any]) -> str:
        return json.dumps(result)


class LoginsTest(LoginCase):
    def test_a_login_needs_no_restart_and_outlives_one(self) -> None:
        gateway = self.open()
        state = self.await_state(gateway, "failing")
        self.assertIn("crab mcp login notes", state["error"])
        self.assertIn("is logged in", log_in(gateway, "notes"))
        self.await_state(gateway, "ready")
        form = self.issuer.forms[-1]
        self.assertEqual(form["resource"], self.server.url)
        file = gateway.folder / "state" / "mcp_logins" / "oauth.json"
        eventually(lambda: b"at-" in file.read_bytes() if file.exists() else False, "it is kept")
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(file.parent.stat().st_mode), 0o700)
        gateway.stop()
        gateway.start()
        self.await_state(gateway, "ready")
        self.assertEqual(self.issuer.asked["/authorize"], 1)
        for token in self.issuer.access:
            self.assertNotIn(token, gateway.log_tail(1 << 20))

    def test_what_was_typed_counts_like_the_browser(self) -> None:
        gateway = self.open({"user": True})
        process, page = begin_login(gateway, "notes")
        _, back = get(page)
        typed = f"https://evil.example/?code=x&state=y\n{back}\n"
        self.assertIn("is logged in", end_login(process, typed))
        self.await_state(gateway, "ready")

    def test_an_answer_of_another_issuer_is_refused(self) -> None:
        gateway = self.open()
        process, page = begin_login(gateway, "notes")
        _, back = get(page)
        wrong = back.replace("iss=http", "iss=https")
        self.assertNotEqual(wrong, back)
        with self.assertRaisesRegex(LoginRefused, "another authorization server"):
            end_login(process, wrong + "\n")
        self.assertEqual(self.issuer.forms, [], "a code was used")

    def test_another_pages_answer_does_not_end_the_login(self) -> None:
        gateway = self.open()
        process, page = begin_login(gateway, "notes")
        _, back = get(page)
        place, _, _ = back.partition("?")
        self.assertEqual(get(f"{place}?code=stolen&state=made-up")[0], 404)
        self.assertEqual(get(back)[0], 200)
        self.assertIn("is logged in", end_login(process))

    def test_what_cannot_be_logged_in_at_is_refused(self) -> None:
        gateway = self.open()
        with self.assertRaisesRegex(LoginRefused, "no such MCP server"):
            begin_login(gateway, "nobody")
        self.issuer.more_metadata["code_challenge_methods_supported"] = ["plain"]
        with self.assertRaisesRegex(LoginRefused, "PKCE"):
            begin_login(gateway, "notes")
        del self.issuer.more_metadata["code_challenge_methods_supported"]
        self.issuer.more_metadata["issuer"] = self.issuer.url + "/"
        with self.assertRaisesRegex(LoginRefused, "another issuer"):
            begin_login(gateway, "notes")
        del self.issuer.more_metadata["issuer"]
        self.server.more_metadata["resource"] = "http://127.0.0.1:1/mcp"
        with self.assertRaisesRegex(LoginRefused, "another resource"):
            begin_login(gateway, "notes")
        begin = {"redirect_uri": "http://127.0.0.1:1/callback", "principal": "ann\n"}
        answer = gateway.admin_request("POST", "/v1/mcp/servers/notes/login", begin)
        self.assertEqual(answer.status, 400)
        for redirect in ("https://evil.example/", "http://evil.example/", "javascript:x", ""):
            with self.subTest(redirect):
                answer = gateway.admin_request(
                    "POST", "/v1/mcp/servers/notes/login", {"redirect_uri": redirect}
                )
                self.assertEqual(answer.status, 400)

    def test_nobody_logs_in_where_the_token_could_be_read_on_the_way(self) -> None:
        config = {"mcp": {"servers": {"far": {"url": "http://far.invalid/mcp"}}}}
        gateway = self.enterContext(Gateway(config))
        with self.assertRaisesRegex(LoginRefused, "allow_plain"):
            begin_login(gateway, "far")

    def test_a_server_leads_to_no_private_address(self) -> None:
        gateway = self.open()
        for place in (
            "http://169.254.169.254/latest/meta-data",
            "http://10.0.0.1/",
            "https://10.0.0.1/",
            "https://192.168.0.1/",
            "https://[fd00::1]/",
            "https://localtest.me.invalid/",
            "file:///etc/passwd",
        ):
            with self.subTest(place):
                self.server.more_metadata["authorization_servers"] = [place]
                with self.assertRaises(LoginRefused):
                    begin_login(gateway, "notes")
        del self.server.more_metadata["authorization_servers"]
        self.issuer.more_metadata["token_endpoint"] = "http://10.0.0.1/token"
        with self.assertRaisesRegex(LoginRefused, "https"):
            begin_login(gateway, "notes")

    def test_a_token_is_refreshed_and_a_login_that_ended_is_told(self) -> None:
        self.issuer.lifetime = 1  # which is over at once: tokens are renewed before their end
        gateway = self.open({"user": True})
        log_in(gateway, "notes")
        self.await_state(gateway, "ready")
        kinds = [form["grant_type"] for form in self.issuer.forms]
        self.assertIn("refresh_token", kinds)
        self.assertEqual(self.issuer.asked["/authorize"], 1)
        self.issuer.forget_refresh_tokens()
        self.issuer.access.clear()
        answer = self.call(gateway, "who")
        self.assertIn("`crab mcp login notes`", answer["error"]["message"])

    def test_more_scopes_need_another_login_that_asks_for_all(self) -> None:
        self.server.more_metadata["scopes_supported"] = ["read"]
        gateway = self.open({"user": True})
        log_in(gateway, "notes")
        self.await_state(gateway, "ready")
        answer = self.call(gateway, "write")
        self.assertIn("`crab mcp login notes`", answer["error"]["message"])
        process, page = begin_login(gateway, "notes")
        self.assertIn("scope=read%20write", page)
        get(get(page)[1])
        end_login(process)
        self.assertEqual(self.call(gateway, "write")["status"], "ok")

    def test_a_login_is_forgotten(self) -> None:
        gateway = self.open({"user": True})
        log_in(gateway, "notes")
        self.await_state(gateway, "ready")
        gateway.crab("mcp", "logout", "notes")
        answer = self.call(gateway, "who")
        self.assertIn("`crab mcp login notes`", answer["error"]["message"])

    def test_two_principals_have_two_logins_and_two_sessions(self) -> None:
        gateway = self.open({"user": True})
        log_in(gateway, "notes")
        self.await_state(gateway, "ready")
        callers = {name: self.client(gateway, name) for name in ("ann", "bob")}
        for name in callers:
            refused = callers[name].call("who")
            self.assertTrue(refused["isError"])
            self.assertIn(f"crab mcp login notes --for caller/{name}", self.said(refused))
        self.assertEqual(self.server.calls, [], "a call ran with the login of another")
        for name in callers:
            self.issuer.logged_in = name
            log_in(gateway, "notes", "--for", f"caller/{name}")
        for _ in range(2):
            for name, client in callers.items():
                self.assertIn(f'"{name}"', self.said(client.call("who")))
        sessions = {who: session for session, who, _ in self.server.calls}
        self.assertEqual(len(set(sessions.values())), 2)
        for session, who, _ in self.server.calls:
            self.assertEqual(self.server.sessions[session], who)
            self.assertEqual(sessions[who], session)

    def test_a_session_from_before_a_login_never_uses_it(self) -> None:
        """A server that wants no login yet, then one: the caller has a session of its own by then,
        and the gateway's login is not for it."""
        issuer, self.server.issuer = self.server.issuer, None
        gateway = self.open()
        self.await_state(gateway, "ready")
        ann = self.client(gateway, "ann")
        self.assertIn("anybody", self.said(ann.call("who")))
        self.server.issuer = issuer
        log_in(gateway, "notes")
        self.assertEqual(self.call(gateway)["status"], "ok")
        self.assertIn("crab mcp login notes --for caller/ann", self.said(ann.call("who")))
        self.assertEqual([who for _, who, _ in self.server.calls], ["anybody", "ann"])

    def test_an_unguarded_server_needs_no_login(self) -> None:
        self.server.issuer = None
        gateway = self.open()
        self.await_state(gateway, "ready")
        self.assertIn("anybody", self.said(self.client(gateway, "ann").call("who")))


class ClientCredentialsTest(LoginCase):
    def test_the_gateway_gets_a_token_by_its_secret(self) -> None:
        for methods in (["client_secret_basic"], ["client_secret_post"]):
            with self.subTest(methods):
                self.issuer.more_metadata["token_endpoint_auth_methods_supported"] = methods
                gateway = self.open(self.robot(client_secret="robot-secret"))
                self.await_state(gateway, "ready")
                self.assertIn("robot", self.said(self.client(gateway, "ann").call("who")))
                form = self.issuer.forms[-1]
                self.assertEqual(form["grant_type"], "client_credentials")
                self.assertEqual(form["resource"], self.server.url)
                before = len(self.issuer.forms)
                self.issuer.access.clear()
                self.assertIn("robot", self.said(self.client(gateway, "ann").call("who")))
                self.assertEqual(len(self.issuer.forms), before + 1)
                self.assertNotIn("robot-secret", gateway.log_tail(1 << 20))

    def test_the_gateway_gets_a_token_by_its_key(self) -> None:
        key = self.folder / "robot.pem"
        key.touch(mode=0o600)
        key.write_bytes(self.issuer.keys[0].file.read_bytes())
        gateway = self.open(self.robot(key_file=str(key)))
        self.await_state(gateway, "ready")
        self.assertIn("client_assertion", self.issuer.forms[-1])
        self.assertNotIn("client_secret", self.issuer.forms[-1])

    def test_a_secret_is_for_its_issuer_alone(self) -> None:
        other = self.enterContext(Issuer(self.folder))
        self.server.more_metadata["authorization_servers"] = [other.url]
        gateway = self.open(self.robot(client_secret="robot-secret"))
        state = self.await_state(gateway, "failing")
        self.assertIn("another authorization server", state["error"])
        self.assertEqual(other.forms + self.issuer.forms, [])

    def test_a_refused_secret_says_what_to_look_at(self) -> None:
        gateway = self.open(self.robot(client_secret="wrong"))
        state = self.await_state(gateway, "failing")
        self.assertIn("invalid_client", state["error"])
        self.assertNotIn("wrong", state["error"])


class HangingIssuerTest(LoginCase):
    def test_calls_end_at_their_deadline_while_a_token_is_obtained(self) -> None:
        gateway = self.open(self.robot(client_secret="robot-secret"))
        self.await_state(gateway, "ready")
        before = self.issuer.asked["/token"]
        self.issuer.access.clear()  # what the gateway has is refused from now on
        self.issuer.hang.add("/token")
        for _ in range(2):
            call = call_request("who", {}, timeout_ms=500)
            answer = gateway.admin_request("POST", "/v1/tools/call", call)
            # the issuer answers later, and the gateway's patience with it is longer than both calls
            self.assertIn(b"TIMEOUT", bytes(answer.body))
        self.assertEqual(self.issuer.asked["/token"], before + 1, "they wait for one renewal")
        self.issuer.hang.clear()
        self.issuer.go_on.set()
        eventually(lambda: "TIMEOUT" not in json.dumps(self.call(gateway)), "calls work again")


class PassthroughTest(LoginCase):
    def test_no_header_of_a_client_reaches_a_server(self) -> None:
        gateway = self.open(self.robot(client_secret="robot-secret"))
        self.await_state(gateway, "ready")
        headers = {
            name: CANARY
            for name in (
                "Cookie",
                "X-Forwarded-For",
                "X-Forwarded-Host",
                "Forwarded",
                "Proxy-Authorization",
                "X-Api-Key",
                "Mcp-Param-Region",
                "Mcp-Anything",
                "Referer",
                "User-Agent",
            )
        }
        token = gateway.caller_token("ann")
        for client in (
            self.client(gateway, "ann", **headers),
            ModernClient(
                HttpLink(
                    f"http://localhost:{gateway.public[1]}/mcp",
                    {"Authorization": f"Bearer {token}", **headers},
                )
            ),
        ):
            self.assertIn("robot", self.said(client.call("who")))
        self.assertTrue(self.server.heads)
        whole = json.dumps(self.server.heads) + b"".join(self.server.bodies).decode()
        self.assertNotIn(CANARY, whole)
        self.assertNotIn(token, whole)


if __name__ == "__main__":
    unittest.main()
