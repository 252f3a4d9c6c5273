"""The gateway as an OAuth resource server: docs/protocols/mcp.md, sections 6.1 and 6.2."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Any, ClassVar

from support.case import GatewayCase
from support.gateway import Gateway
from support.http import request_bytes
from support.issuer import Issuer, text64
from support.wait import eventually

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))
from mcp_client import LegacyClient, ModernClient  # noqa: E402
from mcp_fixture import command  # noqa: E402
from mcp_links import HttpLink  # noqa: E402

RESOURCE = "https://gw.example/mcp"
METADATA = "https://gw.example/.well-known/oauth-protected-resource/mcp"
WELL_KNOWN = "/.well-known/oauth-protected-resource"
PING = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
PING["params"] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def link_of(gateway: Gateway, token: str) -> HttpLink:
    url = f"http://localhost:{gateway.public[1]}/mcp"
    return HttpLink(url, {"Authorization": f"Bearer {token}"})


class OauthCase(GatewayCase):
    issuer: ClassVar[Issuer]
    OAUTH: ClassVar[dict[str, Any]] = {}
    MORE: ClassVar[dict[str, Any]] = {}

    @classmethod
    def setUpClass(cls) -> None:
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.issuer = cls.enterClassContext(Issuer(folder))
        oauth = {"issuer": cls.issuer.url, "issuer_name": "login", "resource": RESOURCE}
        cls.CONFIG = {**cls.MORE, "mcp": {"oauth": {**oauth, **cls.oauth_config()}}}
        program, *words = command()
        cls.CONFIG["mcp"]["servers"] = {"fixture": {"command": program, "args": words}}
        super().setUpClass()

    @classmethod
    def oauth_config(cls) -> dict[str, Any]:
        return cls.OAUTH

    def opening(self, token: str | None) -> Any:
        headers = {"Accept": "application/json, text/event-stream"}
        return self.gateway.fetch("POST", "/mcp", token, headers, body=PING)

    def refusal(self, token: str | None, status: int = 401) -> str:
        """The challenge of a refusal."""
        answer = self.opening(token)
        self.assertEqual(answer.status, status, answer.body)
        return answer.headers["www-authenticate"]


class SignedTokensTest(OauthCase):
    OAUTH = {"scopes": ["mcp:use", "mcp:tools"], "claims": {"tenant": "org", "roles": "groups"}}
    MORE = {
        "policy": [
            {"principal": "oauth/login/*", "tenant": "other", "call": {"deny": ["*"]}},
            {"principal": "oauth/login/bob", "call": {"deny": ["*"]}},
        ]
    }

    def token(self, header: dict[str, Any] | None = None, **claims: Any) -> str:
        whole = {"scope": "openid mcp:tools mcp:use", "org": "acme", "groups": ["caller", "boss"]}
        audience = claims.pop("aud", RESOURCE)
        return self.issuer.token(audience, header, **{**whole, **claims})

    def test_the_resource_is_described_where_clients_look(self) -> None:
        for path in (WELL_KNOWN, f"{WELL_KNOWN}/mcp"):
            answer = self.gateway.fetch("GET", path)
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.headers["access-control-allow-origin"], "*")
            self.assertEqual(
                answer.json(),
                {
                    "resource": RESOURCE,
                    "authorization_servers": [self.issuer.url],
                    "scopes_supported": ["mcp:use", "mcp:tools"],
                    "bearer_methods_supported": ["header"],
                },
            )
        for path in ("/.well-known/oauth-authorization-server", "/authorize", "/register"):
            answer = self.gateway.fetch("GET", path)
            self.assertEqual(answer.status, 404)
            answer.json()

    def test_refusals_say_where_tokens_come_from(self) -> None:
        plain = f'Bearer realm="crab", resource_metadata="{METADATA}", scope="mcp:use mcp:tools"'
        self.assertEqual(self.refusal(None), plain)
        bad = plain.replace('"crab"', '"crab", error="invalid_token"')
        self.assertEqual(self.refusal("0" * 64), bad)
        self.assertEqual(self.refusal(self.token(aud="https://gw.example/other")), bad)
        few = plain.replace('"crab"', '"crab", error="insufficient_scope"')
        self.assertEqual(self.refusal(self.token(scope="mcp:use"), 403), few)

    def test_a_token_is_a_principal_with_its_tenant(self) -> None:
        for header in ({}, {"typ": "JWT"}, {"typ": "application/at+jwt"}):
            with self.subTest(header):
                client = LegacyClient(link_of(self.gateway, self.token(header, sub="ann/1")))
                client.open()
                self.assertIn("tools", client.request("tools/list"))
                self.assertIn(client.end(), (200, 204))

    def test_what_a_principal_may_is_what_policy_says_of_it(self) -> None:
        """Tenant and roles come from the claims: another tenant does not see the tool."""
        for sub, tenant, sees in (
            ("ann", "acme", True),
            ("ann", "other", False),
            ("bob", "acme", False),
        ):
            with self.subTest(sub, tenant=tenant):
                client = LegacyClient(link_of(self.gateway, self.token(sub=sub, org=tenant)))
                client.open()
                if sees:
                    eventually(lambda: "test_simple_text" in client.tools(), "it is listed")
                    self.assertFalse(client.call("test_simple_text").get("isError"))
                else:
                    self.assertNotIn("test_simple_text", client.tools())

    def test_tokens_of_others_for_others_and_of_other_times_are_refused(self) -> None:
        now = int(time.time())
        wrong: list[dict[str, Any]] = [
            {"aud": "https://other.example/mcp"},
            {"aud": RESOURCE + "/"},
            {"aud": None},
            {"aud": [["https://gw.example/mcp"]]},
            {"iss": self.issuer.url + "/"},
            {"iss": "https://evil.example"},
            {"iss": None},
            {"exp": now - 61},
            {"exp": None},
            {"exp": "tomorrow"},
            {"nbf": now + 120},
            {"sub": None},
            {"sub": ""},
            {"org": None},
            {"groups": ["device"]},
            {"groups": None},
        ]
        for claims in wrong:
            with self.subTest(claims):
                self.assertIn('error="invalid_token"', self.refusal(self.token(**claims)))
        for typ in ("id+jwt", "dpop+jwt", "logout+jwt", "secevent+jwt"):
            with self.subTest(typ):
                self.refusal(self.token({"typ": typ}))
        self.assertEqual(self.opening(self.token(aud=["x", RESOURCE], exp=now - 30)).status, 200)

    def test_unsigned_tokens_and_those_of_a_shared_secret_are_refused(self) -> None:
        claims = self.issuer.claims(
            RESOURCE, scope="mcp:use mcp:tools", org="acme", groups=["caller"]
        )
        body = text64(json.dumps(claims).encode())
        kid = self.issuer.keys[0].kid
        good = self.token()
        for algorithm in ("none", "None", "NONE"):
            header = text64(json.dumps({"alg": algorithm, "kid": kid}).encode())
            for signature in ("", good.rpartition(".")[2]):
                self.refusal(f"{header}.{body}.{signature}")
        public = json.dumps(self.issuer.keys[0].jwk()).encode()
        for algorithm in ("HS256", "HS512"):
            header = text64(json.dumps({"alg": algorithm, "kid": kid}).encode())
            for secret in (public, self.issuer.keys[0].modulus, b""):
                signed = f"{header}.{body}".encode()
                mac = hmac.digest(secret, signed, hashlib.sha256)
                self.refusal(f"{header}.{body}.{text64(mac)}")
        head, _, signature = good.split(".")
        self.refusal(f"{head}.{body}.{signature}")
        self.assertEqual(self.opening(good).status, 200)

    def test_one_issuers_token_counts_at_mcp_alone(self) -> None:
        token = self.token(groups=["operator"])
        for path in ("/v1/tools", "/v1/mcp/servers"):
            self.assertIn(self.gateway.fetch("GET", path, token).status, (401, 404))
        self.assertEqual(self.opening(self.gateway.caller_token()).status, 200)

    def test_bodies_that_come_with_made_up_tokens_leave_others_room_for_theirs(self) -> None:
        """Until a token is verified its body counts as a stranger's: 64 MiB for all of them, of the
        512 MiB that there are."""
        head = request_bytes(
            "POST",
            "/mcp",
            {
                "Authorization": "Bearer eyJ.a.b",
                "Content-Type": "application/json",
                "Content-Length": "4000000",
                "Expect": "100-continue",
            },
        )
        answers = []
        for network in range(2, 14):
            for _ in range(16):
                source = (f"127.0.0.{network}", 0)
                link = socket.create_connection(self.gateway.public, 10, source_address=source)
                self.addCleanup(link.close)
                link.sendall(head)
                answers.append(link.recv(12))
        self.assertEqual({b"HTTP/1.1 100", b"HTTP/1.1 429"}, set(answers))
        body = {**PING, "padding": "x" * 1_000_000}
        self.assertEqual(
            self.gateway.fetch("POST", "/mcp", self.gateway.caller_token(), body=body).status, 200
        )

    def test_keys_that_nobody_has_are_not_fetched_for_each_token(self) -> None:
        self.assertEqual(self.opening(self.token()).status, 200)
        before = self.issuer.asked["/jwks"]
        for number in range(40):
            self.refusal(self.token({"kid": f"made-up-{number}"}))
        # two event loops, each at most once in half a minute
        self.assertLessEqual(self.issuer.asked["/jwks"] - before, 2)


class RotatedKeysTest(OauthCase):
    def test_a_new_key_counts_and_the_old_one_does_not(self) -> None:
        self.issuer.refuse.add("/jwks")
        self.assertEqual(self.opening(self.issuer.token(RESOURCE)).status, 503)
        self.issuer.refuse.clear()
        with Gateway(self.CONFIG) as gateway:

            def status(token: str) -> int:
                return gateway.fetch("POST", "/mcp", token, body=PING).status

            old = [self.issuer.token(RESOURCE, jti=str(number)) for number in range(8)]
            self.issuer.rotate()
            new = [self.issuer.token(RESOURCE, jti=str(number)) for number in range(8)]
            self.assertEqual([status(token) for token in new], [200] * 8)
            self.assertEqual([status(token) for token in old], [401] * 8)


class IntrospectedTokensTest(OauthCase):
    @classmethod
    def oauth_config(cls) -> dict[str, Any]:
        url, (client, secret) = f"{cls.issuer.url}/introspect", cls.issuer.introspection_client
        return {"introspection": {"url": url, "client_id": client, "client_secret": secret}}

    def test_what_the_issuer_says_counts(self) -> None:
        active = {"active": True, **self.issuer.claims(RESOURCE)}
        self.issuer.introspected |= {
            "good": active,
            "elsewhere": {**active, "aud": "https://other.example"},
            "over": {"active": False},
            "foreign": {**active, "iss": "https://evil.example"},
            "terse": {name: active[name] for name in ("active", "aud", "sub")},
        }
        self.assertEqual(self.opening("good").status, 200)
        self.assertEqual(self.opening("terse").status, 200)
        for token in ("elsewhere", "over", "foreign", "unknown"):
            self.assertIn('error="invalid_token"', self.refusal(token))
        asked = self.issuer.asked["/introspect"]
        self.assertEqual(self.opening(self.gateway.caller_token()).status, 200)
        self.assertEqual(self.issuer.asked["/introspect"], asked, "an own token was shown around")

    def test_an_issuer_out_of_order_refuses_nobody_for_good(self) -> None:
        self.issuer.introspected["later"] = {"active": True, **self.issuer.claims(RESOURCE)}
        self.issuer.refuse.add("/introspect")
        answer = self.opening("later")
        self.assertEqual(answer.status, 503)
        self.issuer.refuse.clear()
        self.assertEqual(self.opening("later").status, 200)


class StreamsTest(OauthCase):
    """A token that counts for a few more seconds, because clocks may differ by a minute."""

    def short_token(self, seconds: float) -> str:
        return self.issuer.token(RESOURCE, exp=int(time.time() + seconds) - 60, jti=str(seconds))

    def end_of(self, pending: Any) -> threading.Event:
        """Set when that stream has ended."""
        self.assertEqual(pending.status, 200)
        ended = threading.Event()

        def read() -> None:
            for _ in pending.events():
                pass
            ended.set()

        threading.Thread(target=read, daemon=True).start()
        return ended

    def test_streams_end_with_their_token(self) -> None:
        token, longer = self.short_token(4), self.issuer.token(RESOURCE)
        ends = []
        for each in (token, longer):
            legacy = LegacyClient(link_of(self.gateway, each))
            legacy.open()
            ends.append(self.end_of(legacy.link.request("GET", legacy.session)))
            client = ModernClient(link_of(self.gateway, each))
            ends.append(self.end_of(client.listen(toolsListChanged=True)))
        self.assertFalse(ends[0].wait(0.5), "the stream ended at once")
        self.assertTrue(ends[0].wait(10) and ends[1].wait(10))
        self.refusal(token)
        self.assertFalse(ends[2].is_set() or ends[3].is_set(), "another token's stream ended")

    def test_streams_end_with_a_token_of_the_gateways_own(self) -> None:
        token = self.gateway.pair("for-a-while", ("caller",), expires_in_s=3)
        legacy = LegacyClient(link_of(self.gateway, token))
        legacy.open()
        ends = [self.end_of(legacy.link.request("GET", legacy.session))]
        client = ModernClient(link_of(self.gateway, token))
        ends.append(self.end_of(client.listen(toolsListChanged=True)))
        self.assertFalse(ends[0].wait(0.5), "the stream ended at once")
        self.assertTrue(ends[0].wait(10) and ends[1].wait(10))
        self.refusal(token)

    def test_a_session_goes_on_with_another_token_of_its_principal(self) -> None:
        client = LegacyClient(link_of(self.gateway, self.issuer.token(RESOURCE, jti="one")))
        client.open()
        client.link.headers["Authorization"] = f"Bearer {self.issuer.token(RESOURCE, jti='two')}"
        self.assertIn("tools", client.request("tools/list"))
        foreign = self.issuer.token(RESOURCE, sub="bob")
        client.link.headers["Authorization"] = f"Bearer {foreign}"
        with self.assertRaises(Exception) as caught:
            client.request("tools/list")
        self.assertEqual(caught.exception.status, 404)


class PrefixTest(OauthCase):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        listen = {"listen": {"path_prefix": "/gw"}}
        oauth = {"oauth": {"issuer": cls.issuer.url, "resource": "https://example.org/gw/mcp"}}
        cls.below = cls.enterClassContext(Gateway({**listen, "mcp": oauth}))

    def test_below_a_prefix_the_challenge_names_a_place_that_a_proxy_passes_on(self) -> None:
        refused = self.below.fetch("POST", "/gw/mcp", body=PING)
        place = "/gw/.well-known/oauth-protected-resource/mcp"
        self.assertIn(f'"https://example.org{place}"', refused.headers["www-authenticate"])
        found = self.below.fetch("GET", place)
        self.assertEqual(found.json()["resource"], "https://example.org/gw/mcp")
        token = self.issuer.token("https://example.org/gw/mcp")
        self.assertEqual(self.below.fetch("POST", "/gw/mcp", token, body=PING).status, 200)


class WithoutOauthTest(GatewayCase):
    def test_what_clients_probe_is_not_there(self) -> None:
        for path in (
            WELL_KNOWN,
            f"{WELL_KNOWN}/mcp",
            "/.well-known/oauth-authorization-server",
            "/.well-known/oauth-authorization-server/mcp",
            "/.well-known/openid-configuration",
            "/.well-known/openid-configuration/mcp",
            "/mcp/.well-known/openid-configuration",
            "/register",
            "/authorize",
            "/token",
        ):
            for method in ("GET", "POST"):
                with self.subTest(path, method=method):
                    answer = self.gateway.fetch(method, path)
                    self.assertEqual(answer.status, 404)
                    self.assertIn("error", answer.json())

    def test_without_a_token_the_endpoint_asks_for_one(self) -> None:
        answer = self.gateway.fetch("POST", "/mcp", body=PING)
        self.assertEqual(answer.headers["www-authenticate"], 'Bearer realm="crab"')
        answer = self.gateway.fetch("POST", "/mcp", "a.b.c", body=PING)
        self.assertEqual(
            answer.headers["www-authenticate"], 'Bearer realm="crab", error="invalid_token"'
        )

    def test_a_configuration_that_cannot_be_is_refused(self) -> None:
        for oauth in (
            {"issuer": "http://login.example", "resource": RESOURCE},
            {"issuer": "https://login.example", "resource": "https://gw.example/mcp/"},
            {"issuer": "https://login.example", "resource": "https://GW.example/mcp"},
            {
                "issuer": "https://login.example",
                "resource": RESOURCE,
                "scopes": ["offline_access"],
            },
        ):
            with self.subTest(oauth), self.assertRaisesRegex(AssertionError, "mcp.oauth"):
                Gateway({"mcp": {"oauth": oauth}}).__enter__()


if __name__ == "__main__":
    unittest.main()
