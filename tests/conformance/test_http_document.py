"""The OpenAPI documents of the three listeners against real answers: every operation gives a good
one and a refusal here, with a status, a media type and a body that its document has."""

from __future__ import annotations

import json
import sys
import tempfile
import unittest
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from test_artifacts import EXTENSIONS
from test_console_door import Browser
from test_device_keys import Key, text
from test_events import envelope
from test_peer_listener import Peer, PeerListenerCase
from test_phone_attachments import png

from support.browser_login import get
from support.case import GatewayCase
from support.device import tool
from support.guarded_server import GuardedServer
from support.http import HttpConnection, Response, fetch
from support.issuer import Issuer
from support.openapi import ApiDocument, PeerSide, Side
from support.passkey import Passkey
from support.push_service import PushService, SubscribedBrowser
from support.rtp import call_request
from support.wait import eventually

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from libcrypto import ed25519_sign  # noqa: E402
from pairing_remote import PairingRemote  # noqa: E402
from scripted_model import ScriptedModel  # noqa: E402

SCOPE = {"tenant_id": "default", "agent_id": "a", "session_id": "s"}
FOREIGN = {"Origin": "https://evil.example"}
#: Answers that no caller of the listener can get here: only devices upload results, and a second
#: verification has to meet the first (test_audit.py).
UNREACHABLE = {
    "admin: POST /api/artifacts has no good answer",
    "admin: POST /v1/admin/audit/verify has no refusal",
}


class HttpDocumentTest(PeerListenerCase):
    model: ClassVar[ScriptedModel]
    tree: ClassVar[str]
    service: ClassVar[PushService]

    @classmethod
    def setUpClass(cls) -> None:
        cls.model = cls.enterClassContext(ScriptedModel())
        cls.service = cls.enterClassContext(PushService())
        cls.tree = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.CONFIG = {
            **PeerListenerCase.CONFIG,
            "models": [{"model": "parrot", "provider": "scripted", "url": cls.model.url}],
            "agents": [
                {"name": "cook", "on": [{"event": "heartbeat.tick", "session": "agent"}]},
            ],
            "worktrees": [{"id": "garden/main", "path": cls.tree}],
            "approvals": {"new_tools": "ask"},
            "push": {"services": [cls.service.origin]},
            "listen": {**PeerListenerCase.CONFIG["listen"], "console": "operators"},
            "mcp": {"scopes": {"kitchen": {"tools": {"allow": ["list_devices"]}}}},
            "leases": {"ttl": "1h", "max_ttl": "2h", "renewal_window": "2h"},
            "policy": [{"principal": "caller/*", "call": {"needs_approval": ["list_devices"]}}],
        }
        super().setUpClass()

    def setUp(self) -> None:
        self.device_token = self.gateway.pair(self.gateway.unique("phone"))
        admin, public = self.gateway.admin, self.gateway.public
        documents = {
            "public": fetch(public, "GET", "/openapi.json").json(),
            "admin": fetch(admin, "GET", "/openapi.json").json(),
        }
        operator = self.peer("operator")
        status, documents["peers"] = operator.ask("GET", "/openapi.json")
        self.assertEqual(status, 200)
        self.documents = {name: ApiDocument(name, it) for name, it in documents.items()}
        bearer = {"Authorization": f"Bearer {self.device_token}"}
        self.public = Side(self.documents["public"], public, bearer)
        self.admin = Side(self.documents["admin"], admin, {})
        self.peers = PeerSide(self.documents["peers"], operator)

    def test_every_operation_answers_as_its_document_says(self) -> None:
        for part in (
            self.drive_open_routes,
            self.drive_keys,
            self.drive_console,
            self.drive_tools,
            self.drive_mcp,
            self.drive_artifacts,
            self.drive_app,
            self.drive_chats,
            self.drive_operator,
            self.drive_audit,
            self.drive_devices,
            self.drive_push,
            self.drive_approvals,
            self.drive_agents,
            self.drive_worktrees,
            self.drive_mcp_servers,
            self.drive_peers,
            self.drive_leases,
            self.drive_events,
            self.drive_refusals,
        ):
            with self.subTest(part.__name__):
                part()
        for document in self.documents.values():
            with self.subTest(document.name):
                self.assertEqual([], [it for it in document.missing() if it not in UNREACHABLE])
                self.assertEqual([], document.check(self.gateway.folder))

    def drive_open_routes(self) -> None:
        for side in (self.public, self.admin):
            for path in ("/healthz", "/readyz", "/openapi.json"):
                side.good("GET", path)
        for path in ("/healthz", "/openapi.json"):
            self.peers.good("GET", path)
        self.public.good("GET", "/health")
        scraper = self.gateway.pair(self.gateway.unique("scraper"), ("metrics",))
        for form in ("text/plain", "application/openmetrics-text"):
            self.public.good("GET", "/metrics", Authorization=f"Bearer {scraper}", Accept=form)
            self.admin.good("GET", "/metrics", Accept=form)
        self.admin.good("GET", "/v1/admin/log")
        self.admin.good("PATCH", "/v1/admin/log", {"level": "configured", "part": "trust"})
        self.admin.ask("PATCH", "/v1/admin/log", {"level": "loud"})
        self.public.good("GET", "/device")
        self.public.good("GET", "/device/index.html")
        self.public.ask("GET", "/device/nothing")
        self.admin.good("GET", "/console/index.html")
        self.admin.ask("GET", "/console/nothing")
        for side in (self.public, self.admin):
            side.socket("/ws/chat").stream.close()
            side.ask("GET", "/ws/chat")

    def drive_keys(self) -> None:
        def code() -> str:
            name = self.gateway.unique("tablet")
            return self.admin.good("POST", "/v1/admin/devices/pair", {"name": name})["code"]

        self.public.good("POST", "/pair", X_Pairing_Code=code())
        self.public.ask("POST", "/pair", X_Pairing_Code="000000")
        key = Key(self)
        paired = self.public.good("POST", "/pair", {"public_key": key.spki}, X_Pairing_Code=code())
        nonce = self.public.good("POST", "/device/challenge")["nonce"]
        signed = f"crab-device-v1\n{paired['key_id']}\n{nonce}".encode()
        exchange = {"key_id": paired["key_id"], "nonce": nonce}
        exchange["signature"] = text(ed25519_sign(key.seed, signed))
        self.public.good("POST", "/device/token", exchange)
        self.assertEqual(self.public.ask("POST", "/device/token", exchange).status, 401)
        voucher = {"code": code(), "public_key": key.spki}
        self.admin.good("POST", "/v1/admin/devices/vouch", voucher)
        self.admin.ask("POST", "/v1/admin/devices/vouch", {})

    def drive_console(self) -> None:
        """What the page of another machine asks, as an operator with a key, and as nobody."""
        made = {"name": self.gateway.unique("owner"), "roles": ["operator"]}
        code, key = self.admin.good("POST", "/v1/admin/devices/pair", made)["code"], Key(self)
        paired = {"public_key": key.spki}
        key.key_id = self.public.good("POST", "/pair", paired, X_Pairing_Code=code)["key_id"]
        browser, nobody = Browser(self.gateway), Browser(self.gateway)

        def ask(method: str, path: str, body: Any = None) -> None:
            for who in (nobody, browser):
                answer = who.request(method, path, body)
                self.public.take(method, f"/console/{path}", answer)
                self.assertEqual(answer.status < 400, who is browser, (method, path, answer.body))

        def sign(who: Browser, path: str, proof: dict[str, str]) -> Response:
            answer = who.request("POST", path, proof)
            self.public.take("POST", f"/console/{path}", answer)
            return answer

        for headers in ({"Host": browser.host}, {"Host": browser.host, **FOREIGN}):
            way = self.gateway.fetch("GET", "/console", headers=headers)
            self.public.take("GET", "/console", way)
        self.public.take("GET", "/console/index.html", nobody.send("GET", "index.html"))
        self.public.take("GET", "/console/nothing.js", nobody.send("GET", "nothing.js"))
        self.public.take(
            "POST", "/console/session/challenge", nobody.send("POST", "session/challenge")
        )
        foreign = nobody.send("POST", "session/challenge", FOREIGN)
        self.public.take("POST", "/console/session/challenge", foreign)
        self.assertEqual(sign(browser, "session", {"token": "wrong"}).status, 401)
        signed_in = sign(browser, "session", browser.signed(key))
        browser.key = signed_in.json()["key"]
        browser.cookie = signed_in.headers["set-cookie"].split(";")[0]
        self.assertEqual(sign(browser, "session/proof", browser.signed(key)).status, 204)
        self.assertEqual(sign(nobody, "session/proof", {}).status, 401)
        self.drive_passkeys(browser, ask)
        ask("GET", "session")
        ask("POST", "session/ticket")
        ask("GET", "api/v1/admin/status")
        ask("POST", "api/v1/admin/reload")
        device = self.gateway.unique("lamp")
        self.gateway.pair(device)
        ask("PATCH", f"api/v1/admin/devices/{device}", {"name": "Lamp"})
        servers = "api/v1/mcp/servers"
        command = {"server": {"command": "/bin/false"}}
        ask("POST", servers, {"name": "kitchen", **command})
        ask("PUT", f"{servers}/kitchen", {"server": {"url": "https://mcp.example/mcp"}})
        ask("DELETE", f"{servers}/kitchen")
        ask("DELETE", "session")

    def drive_passkeys(self, browser: Browser, ask: Callable[..., None]) -> None:
        path = "session/passkeys"
        told = browser.request("POST", f"{path}/challenge")
        self.public.take("POST", f"/console/{path}/challenge", told)
        elsewhere = browser.request("POST", f"{path}/challenge", Host="127.0.0.1")
        self.public.take("POST", f"/console/{path}/challenge", elsewhere)
        self.assertEqual((told.status, elsewhere.status), (200, 403))
        ask("POST", path, Passkey(browser.origin).create(told.json()["challenge"]))
        ask("GET", path)
        (kept,) = browser.request("GET", path).json()["passkeys"]
        ask("DELETE", f"{path}/{kept['key_id']}")

    def drive_push(self) -> None:
        path = "/v1/admin/push/subscriptions"
        wanted = SubscribedBrowser(self.service).subscription()
        self.admin.good("GET", "/v1/admin/push/key")
        id = self.admin.good("POST", path, wanted)["id"]
        self.assertEqual(self.admin.ask("POST", path, {}).status, 400)
        self.admin.good("GET", path)
        self.admin.good("POST", f"{path}/{id}/test")
        self.admin.good("DELETE", f"{path}/{id}")
        self.assertEqual(self.admin.ask("DELETE", f"{path}/{id}").status, 404)
        self.assertEqual(self.admin.ask("POST", f"{path}/{id}/test").status, 404)
        page = SubscribedBrowser(self.service).subscription()
        self.public.good("GET", "/device/push")
        self.public.good("PUT", "/device/push", page)
        self.assertEqual(self.public.ask("PUT", "/device/push", {}).status, 400)
        self.public.good("DELETE", "/device/push")

    def drive_tools(self) -> None:
        for side in (self.public, self.admin):
            side.good("GET", "/v1/tools")
            request = call_request("list_devices")
            side.good("POST", "/v1/tools/call", request)
            side.good("POST", "/v1/tools/call", call_request("nobody"))
            side.good("POST", "/v1/tools/call", call_request("nobody"), Accept="text/event-stream")
            self.assertEqual(side.ask("POST", "/v1/tools/call", b"{").status, 400)
            which = {"version": "v1", "tenant_id": "default", "call_id": request["call_id"]}
            side.good("POST", "/v1/tools/cancel", which)
            self.assertEqual(side.ask("POST", "/v1/tools/cancel", {}).status, 400)

    def drive_mcp(self) -> None:
        for side in (self.public, self.admin):
            for path in ("/mcp", "/mcp/kitchen"):
                self.drive_mcp_of(side, path)
            self.assertEqual(side.ask("POST", "/mcp/cellar", {}).status, 404)

    def drive_mcp_of(self, side: Side, path: str) -> None:
        params = {"protocolVersion": "2025-11-25", "capabilities": {}}
        params["clientInfo"] = {"name": "document", "version": "1"}
        opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        opened = side.ask("POST", path, opening)
        session = {"Mcp_Session_Id": opened.headers["mcp-session-id"]}
        begun = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        self.assertEqual(side.ask("POST", path, begun, **session).status, 202)
        lists = {"jsonrpc": "2.0", "id": "2", "method": "tools/list"}
        self.assertIn("tools", side.good("POST", path, lists, **session)["result"])
        side.stream(path, **session)
        side.good("DELETE", path, **session)
        self.assertEqual(side.ask("POST", path, lists, **session).status, 404)
        self.assertEqual(side.ask("POST", path, {}).status, 400)
        self.assertEqual(side.ask("GET", path).status, 405)
        self.assertEqual(side.ask("DELETE", path).status, 405)

    def artifact(self) -> str:
        """The path of a large result."""
        name = self.gateway.unique("camera")
        device = self.open(capabilities=EXTENSIONS)
        device.register(tool(name))
        call = self.gateway.start_call(name)
        request = device.next_call(name)
        response = device.upload(request, b"a picture", "image/jpeg")
        self.public.take("POST", "/api/artifacts", response)
        self.assertEqual(response.status, 201)
        device.answer_uploaded(request, response.json()["artifact"])
        return call.result(20).result["artifact"]["href"]

    def drive_artifacts(self) -> None:
        operator = self.gateway.pair(self.gateway.unique("operator"), ("operator", "caller"))
        bearer = f"Bearer {operator}"
        for side, headers in ((self.public, {"Authorization": bearer}), (self.admin, {})):
            href = self.artifact()
            side.good("GET", "/v1/artifacts", **headers)
            side.good("GET", href, **headers)
            self.assertEqual(side.ask("GET", href, Range="bytes=0-1", **headers).status, 206)
            self.assertEqual(side.ask("GET", href, Range="bytes=99-", **headers).status, 416)
            self.assertEqual(side.ask("GET", href, If_None_Match="*", **headers).status, 304)
            side.good("DELETE", href, **headers)
            self.assertEqual(side.ask("GET", href, **headers).status, 404)
        self.public.ask("POST", "/api/artifacts?call_id=x", b"x", Content_Type="image/png")
        self.admin.ask("POST", "/api/artifacts?call_id=x", b"x", Content_Type="image/png")

    def drive_app(self) -> None:
        self.public.good("GET", "/api/tools")
        self.public.good("GET", "/api/status")
        key = {"X_Idempotency_Key": str(uuid.uuid4())}
        self.public.good("POST", "/webhook", {"message": "hello"}, **key)
        repeated = self.public.good("POST", "/webhook", {"message": "hello"}, **key)
        self.assertTrue(repeated["replayed"])
        self.public.ask("POST", "/webhook", {})

    def drive_chats(self) -> None:
        for side in (self.public, self.admin):
            socket = side.socket("/ws/chat?name=Kitchen")
            session = json.loads(socket.receive_text())["session_id"]
            path = f"/api/sessions/{session}"
            side.good("GET", "/api/sessions/running")
            side.good("GET", "/api/agents")
            picture = side.good("POST", f"{path}/attachments", png(), Content_Type="image/png")
            side.good("GET", f"{path}/attachments/{picture['id']}")
            side.ask("GET", f"{path}/attachments/att_{'0' * 32}")
            side.good("PUT", path, {"name": "Garden"})
            side.good("GET", "/api/sessions")
            side.good("GET", "/api/sessions?q=garden&limit=1")
            self.assertEqual(side.ask("GET", "/api/sessions?limit=0").status, 400)
            side.good("GET", f"{path}/messages")
            side.good("GET", f"{path}/state")
            side.good("POST", f"{path}/abort")
            self.assertEqual(side.ask("PUT", path, {}).status, 400)
            side.good("DELETE", path)
            for method, rest in (("GET", "/messages"), ("GET", "/state"), ("DELETE", "")):
                self.assertEqual(side.ask(method, f"/api/sessions/nobody{rest}").status, 404)
            socket.stream.close()

    def drive_operator(self) -> None:
        for path in ("status", "tools", "calls?limit=5"):
            self.admin.good("GET", f"/v1/admin/{path}")
        call = self.gateway.unique("call")
        self.admin.good("POST", "/v1/tools/call", call_request("list_devices", call_id=call))
        found = f"/v1/admin/calls/{call}"
        eventually(
            lambda: self.gateway.admin_request("GET", found).status == 200, "its record is there"
        )
        self.admin.good("GET", found)
        self.admin.ask("GET", "/v1/admin/calls/nobody")
        self.admin.good("POST", f"{found}/cancel")
        self.admin.good("POST", "/v1/admin/reload")
        self.admin.good("GET", "/v1/admin/health")
        self.admin.good("GET", "/v1/admin/config")
        self.admin.good("POST", "/v1/admin/config/check")
        question = {"as": "caller/ci", "action": "tools.call:x"}
        self.admin.good("GET", f"/v1/admin/policy?{urlencode(question)}")
        self.admin.ask("GET", "/v1/admin/policy")
        self.admin.good("GET", "/v1/admin/policy/matrix?as=caller/ci&limit=2")
        self.admin.ask("GET", "/v1/admin/policy/matrix?as=nobody")
        explained = {"as": "caller/ci", "question": "call list_devices"}
        self.admin.good("POST", "/v1/admin/policy/explain", explained)
        self.admin.good("POST", "/v1/admin/policy/explain", {**explained, "file": True})
        self.admin.ask("POST", "/v1/admin/policy/explain", {})
        self.admin.good("GET", "/v1/admin/tools?view=brief&limit=2")
        self.admin.ask("GET", "/v1/admin/tools?view=odd")
        self.admin.good("GET", "/v1/admin/tools/list_devices")
        self.admin.ask("GET", "/v1/admin/tools/nothing")
        self.admin.stream("/v1/admin/stream?topics=status")
        self.admin.ask("GET", "/v1/admin/stream?topics=odd")
        self.admin.good("GET", "/v1/admin/stats?by=source&window=5m")
        self.admin.ask("GET", "/v1/admin/stats?by=odd")
        self.admin.good("GET", "/v1/admin/series?window=5m")
        self.admin.ask("GET", "/v1/admin/series?window=2h")
        self.admin.good("POST", "/v1/admin/tools/check", {"tool": "list_devices", "args": {"x": 1}})
        self.admin.good("POST", "/v1/admin/tools/check", {"tool": "nothing"})
        self.admin.ask("POST", "/v1/admin/tools/check", {})

    def drive_audit(self) -> None:
        audit = "/v1/admin/audit"
        self.admin.good("GET", f"{audit}?limit=3&tool=list_devices")
        self.admin.good("GET", f"{audit}?event=admin.*")
        self.assertEqual(self.admin.ask("GET", f"{audit}?limit=0").status, 400)
        for form in ("jsonl", "csv"):
            self.assertEqual(self.admin.ask("GET", f"{audit}/export?format={form}").status, 200)
        self.assertEqual(self.admin.ask("GET", f"{audit}/export?format=xml").status, 400)
        self.assertTrue(self.admin.good("POST", f"{audit}/verify")["intact"])
        self.assertEqual(self.admin.ask("POST", f"{audit}/verify", b"{").status, 200)
        sessions = "/v1/admin/console/sessions"
        self.admin.good("POST", sessions, {"change": "ended", "session": 7, "why": "expired"})
        self.assertEqual(self.admin.ask("POST", sessions, {"change": "lost"}).status, 400)

    def drive_devices(self) -> None:
        token = self.new_token("walker")
        slug = self.slug
        first = self.open(token)
        first.register(tool(self.unique("camera")))
        first.close()
        again, shell = self.open(token), self.unique("shell")
        again.register(tool(shell), tool("not a name"))
        self.admin.good("GET", "/v1/admin/devices")
        self.admin.good("GET", f"/v1/admin/devices/{slug}")
        self.admin.ask("GET", "/v1/admin/devices/nobody")
        self.admin.good("PATCH", f"/v1/admin/devices/{slug}", {"name": "Walker"})
        self.admin.ask("PATCH", f"/v1/admin/devices/{slug}", {})
        self.admin.ask("PATCH", "/v1/admin/devices/nobody", {"name": "x"})
        pairing = self.admin.good("POST", "/v1/admin/devices/pair", {"name": self.unique("idle")})
        self.admin.good("DELETE", f"/v1/admin/pairings/{pairing['id']}")
        self.admin.ask("DELETE", f"/v1/admin/pairings/{pairing['id']}")
        self.admin.good("GET", "/v1/admin/principals")
        self.admin.good("GET", f"/v1/admin/diagnose?device={slug}&tool=camera&as=caller/ci")
        self.admin.ask("GET", "/v1/admin/diagnose")
        approved = self.admin.good("POST", "/v1/admin/devices/approve", {"device": slug})
        self.assertIn(shell, approved["approved"])
        self.admin.ask("POST", "/v1/admin/devices/approve", {})
        made = {"name": self.unique("ci"), "roles": ["caller"], "token": True, "expires_in_s": 60}
        issued = self.admin.good("POST", "/v1/admin/devices/pair", made)
        self.admin.ask("POST", "/v1/admin/devices/pair", {"roles": ["king"]})
        self.admin.good("GET", "/v1/admin/devices")
        self.admin.good("GET", f"/v1/admin/devices/{slug}")
        self.admin.ask("GET", "/v1/admin/devices/nobody")
        self.admin.good("PATCH", f"/v1/admin/devices/{slug}", {"name": "Walker"})
        self.admin.ask("PATCH", f"/v1/admin/devices/{slug}", {})
        self.admin.ask("PATCH", "/v1/admin/devices/nobody", {"name": "x"})
        pairing = self.admin.good("POST", "/v1/admin/devices/pair", {"name": self.unique("idle")})
        self.admin.good("DELETE", f"/v1/admin/pairings/{pairing['id']}")
        self.admin.ask("DELETE", f"/v1/admin/pairings/{pairing['id']}")
        self.admin.good("GET", "/v1/admin/principals")
        self.admin.good("GET", f"/v1/admin/diagnose?device={slug}&tool=camera&as=caller/ci")
        self.admin.ask("GET", "/v1/admin/diagnose")
        which = {"token_id": issued["token_id"]}
        self.admin.good("POST", "/v1/admin/devices/revoke", which)
        self.admin.ask("POST", "/v1/admin/devices/revoke", {})

    def drive_approvals(self) -> None:
        path = "/v1/admin/approvals"
        for side in (self.admin, self.peers):
            side.stream(f"{path}/watch")
            watch = HttpConnection(self.gateway.admin)
            watch.send("GET", f"{path}/watch")
            watch.stream.read_until(b"watching")
            running = self.gateway.start_call("list_devices")
            eventually(lambda: self.pending(), "the question is open")
            question = f"{path}/{self.pending()[0]}"
            side.good("GET", path)
            side.good("GET", question)
            self.assertEqual(side.ask("POST", question, {}).status, 400)
            side.good("POST", question, {"decision": "allow", "scope": "always"})
            self.assertEqual(running.result(10).status, "ok")
            side.good("GET", question)
            remembered = side.good("GET", f"{path}/remembered")["remembered"]
            forgotten = f"{path}/remembered/{remembered[0]['id']}"
            side.good("DELETE", forgotten)
            self.assertEqual(side.ask("DELETE", forgotten).status, 404)
            self.assertEqual(side.ask("GET", f"{path}/000000000000").status, 404)
            watch.stream.close()

    def pending(self) -> list[str]:
        approvals = self.gateway.admin_request("GET", "/v1/admin/approvals").json()["approvals"]
        return [each["id"] for each in approvals if each["state"] == "pending"]

    def drive_agents(self) -> None:
        self.admin.good("POST", "/v1/events", envelope("heartbeat.tick"))

        def turns() -> list[dict[str, Any]]:
            listed = self.gateway.admin_request("GET", "/v1/admin/agents").json()["turns"]
            return [turn for turn in listed if "ended_at" in turn]

        eventually(turns, "the turn of an event has ended")
        self.admin.good("GET", "/v1/admin/agents")
        self.admin.good("GET", f"/v1/admin/agents/turns/{quote(turns()[0]['turn_id'])}")
        self.admin.ask("GET", "/v1/admin/agents/turns/nothing")
        self.admin.good("GET", "/v1/admin/agents/tools?agent=cook")
        self.admin.ask("GET", "/v1/admin/agents/tools?agent=nobody")

    def drive_mcp_servers(self) -> None:
        every, one = "/v1/mcp/servers", "/v1/mcp/servers/notes"
        addition = {"name": "notes", "server": {"command": "/bin/false"}, "origin": "a test"}
        self.admin.good("POST", every, addition)
        self.assertEqual(self.admin.ask("POST", every, addition).status, 409)
        self.assertEqual(self.admin.ask("POST", every, {"name": "x"}).status, 400)
        servers = self.admin.good("GET", every)["servers"]
        self.assertEqual([server["argv"] for server in servers], [["/bin/false"]])
        self.admin.good("PUT", one, {"server": {"url": "https://mcp.example/mcp"}})
        self.admin.good("GET", f"{one}/diff")
        nothing = {"entries": [{"kind": "tool", "name": "none", "digest": "0"}]}
        self.assertEqual(self.admin.ask("POST", f"{one}/approve", {}).status, 400)
        self.assertEqual(self.admin.ask("POST", f"{one}/approve", nothing).status, 404)
        self.drive_mcp_login()
        self.admin.good("DELETE", one)
        self.assertEqual(self.admin.ask("DELETE", one).status, 404)
        self.assertEqual(self.admin.ask("PUT", one, addition).status, 404)
        self.assertEqual(self.admin.ask("GET", f"{one}/diff").status, 404)
        self.assertEqual(self.admin.ask("POST", f"{one}/approve", nothing).status, 404)

    def approve_all(self, server: str) -> None:
        """What the diff shows, and nothing else."""

        def changes() -> list[dict[str, Any]]:
            return self.admin.good("GET", f"{server}/diff")["changes"]

        eventually(changes, "the lists of the server wait for an approval")
        entries = [{key: one[key] for key in ("kind", "name", "digest")} for one in changes()]
        other = [{**entries[0], "digest": "0"}]
        self.assertEqual(
            self.admin.ask("POST", f"{server}/approve", {"entries": other}).status, 409
        )
        self.admin.good("POST", f"{server}/approve", {"entries": entries})
        self.assertEqual(changes(), [])

    def drive_mcp_login(self) -> None:
        """Of another server: a login ends at once, because everybody is let in."""
        every, login = "/v1/mcp/servers", "/v1/mcp/servers/guarded/login"
        redirect = "http://127.0.0.1:1/callback"
        with tempfile.TemporaryDirectory() as folder, Issuer(Path(folder)) as issuer:
            with GuardedServer(issuer) as server:
                addition = {"name": "guarded", "server": {"url": server.url, "pin": "ask"}}
                self.admin.good("POST", every, addition)
                begun = self.admin.good("POST", login, {"redirect_uri": redirect})
                _, back = get(begun["url"])
                one = f"{login}/{begun['login']}"
                self.assertEqual(self.admin.ask("POST", one, {"redirected": "?x"}).status, 403)
                self.admin.good("POST", one, {"redirected": back})
                self.assertEqual(self.admin.ask("POST", one, {"redirected": back}).status, 404)
                self.approve_all(f"{every}/guarded")
                self.admin.good("DELETE", login)
                self.assertEqual(self.admin.ask("DELETE", login).status, 404)
                self.assertEqual(self.admin.ask("POST", login, {}).status, 400)
                self.admin.good("DELETE", f"{every}/guarded")
        self.assertEqual(self.admin.ask("POST", login, {"redirect_uri": redirect}).status, 404)

    def drive_worktrees(self) -> None:
        where = urlencode({"who": "caller/ci", "worktree": "garden/main"})
        self.admin.good("POST", f"/v1/admin/worktrees/bind?{where}")
        self.admin.good("GET", "/v1/admin/worktrees")
        self.admin.good("POST", f"/v1/admin/worktrees/unbind?{where}")
        self.assertEqual(self.admin.ask("POST", f"/v1/admin/worktrees/unbind?{where}").status, 404)
        self.admin.ask("POST", "/v1/admin/worktrees/bind")

    def drive_peers(self) -> None:
        for side in (self.admin, self.peers):
            key = side.good("GET", "/v1/identity")["public_key_ed25519"]
            remote = PairingRemote(key, self.gateway.unique("peer"), "tool_host")
            self.addCleanup(remote.__exit__)
            remote.__enter__()
            names = {"component_type": "tool_host", "component_id": remote.component_id}
            asked = {**names, "endpoint": remote.endpoint}
            self.admin.good("POST", "/v1/pairings", asked)
            path = f"/v1/peers/tool_host/{remote.component_id}"
            side.good("GET", "/v1/peers")
            side.good("GET", path)
            side.ask("GET", "/v1/peers/tool_host/nobody")
            self.admin.good("POST", f"{path}/renew")
            side.good("PATCH", path, {"status": "inactive"})
            self.assertEqual(side.ask("PATCH", path, {}).status, 400)
            side.good("POST", f"{path}/revoke", {"reason": "test"})
        self.admin.ask("POST", "/v1/pairings", {})
        self.admin.socket("/v1/pairings/ws").stream.close()
        self.admin.ask("GET", "/v1/pairings/ws")

    def drive_leases(self) -> None:
        wanted = {**SCOPE, "capabilities": ["events.subscribe:cron.*"]}
        for side in (self.admin, self.peers):
            made = side.good("POST", "/v1/leases", wanted)
            self.assertEqual(side.ask("POST", "/v1/leases", {}).status, 400)
            side.good("GET", "/v1/leases")
            path = f"/v1/leases/{made['lease_id']}"
            side.good("POST", f"{path}/renew")
            side.good("DELETE", path)
            side.ask("DELETE", path)
            side.ask("POST", "/v1/leases/nothing/renew")

    def drive_events(self) -> None:
        own = {"component_type": "operator", "component_id": self.peers.peer.remote.component_id}
        for side, source in ((self.admin, {}), (self.peers, {"source": own})):
            side.stream("/v1/events?types=pairing.*&subscription=document")
            self.assertEqual(side.ask("GET", "/v1/events").status, 426)
            event = envelope(**source)
            side.good("POST", "/v1/events", event)
            side.good("POST", "/v1/events", event)
            self.assertEqual(side.ask("POST", "/v1/events", {}).status, 400)
            self.assertEqual(side.ask("POST", "/v1/events/ack", {}).status, 400)
            seen = {"cursor": self.cursor(), "subscription": "document"}
            side.good("POST", "/v1/events/ack", seen)

    def cursor(self) -> str:
        """That of the first event that is kept."""
        with HttpConnection(self.gateway.admin) as connection:
            asked = "/v1/events?types=*&cursor=earliest&subscription=other"
            connection.send("GET", asked, {"Accept": "text/event-stream"})
            connection.stream.read_until(b"id: ")
            return connection.stream.read_until(b"\n").strip().decode()

    def drive_refusals(self) -> None:
        """What follows from the table: no credential, a foreign page, no certificate."""
        public, admin, peers = (self.documents[name] for name in ("public", "admin", "peers"))

        def body_of(operation: dict[str, Any]) -> Any:
            return {} if "requestBody" in operation else None

        stranger = Side(public, self.gateway.public, {})
        for (method, path), operation in public.operations.items():
            expected = {"proven": 401, "metrics": 404, "guest": 403, "session": 401}.get(
                operation["x-who"]
            )
            headers = FOREIGN if operation["x-who"] == "guest" else {}
            if expected:
                target = path.replace("{", "").replace("}", "")
                answer = stranger.ask(method, target, body_of(operation), **headers)
                self.assertEqual(answer.status, expected, (method, path))
        for (method, path), operation in admin.operations.items():
            target = path.replace("{", "").replace("}", "")
            answer = self.admin.ask(method, target, body_of(operation), **FOREIGN)
            self.assertEqual(answer.status, 403, (method, path))
        nobody = PeerSide(peers, Peer(self))
        for (method, path), operation in peers.operations.items():
            target = path.replace("{", "").replace("}", "")
            answer = nobody.ask(method, target, body_of(operation))
            self.assertEqual(answer.status, 401, (method, path))


class CheckTest(unittest.TestCase):
    """The check itself, for one that finds nothing would be of no use."""

    def document(self) -> ApiDocument:
        content = {"application/json": {"schema": {"$ref": "#/components/schemas/thing"}}}
        operation = {"responses": {"200": {"content": content}, "404": {"content": content}}}
        thing = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}
        paths = {"/things/{id}": {"get": operation}, "/things/new": {"get": operation}}
        return ApiDocument("test", {"paths": paths, "components": {"schemas": {"thing": thing}}})

    def test_bodies_have_what_their_schema_says_and_nothing_else(self) -> None:
        for body, good in (({"a": "b"}, True), ({}, False), ({"a": 1}, False), ([], False)):
            document = self.document()
            document.take("GET", "/things/1", 200, "application/json", body)
            with tempfile.TemporaryDirectory() as folder:
                self.assertEqual(document.check(Path(folder)) == [], good, body)
        document = self.document()
        document.take("GET", "/things/1", 200, "application/json", {"a": "b", "more": 1})
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("more", document.check(Path(folder))[0])

    def test_answers_that_are_not_documented_fail(self) -> None:
        for path, status, media in (
            ("/things", 200, "application/json"),
            ("/things/1", 201, "application/json"),
            ("/things/1", 200, "text/plain"),
            ("/things/1", 200, ""),
        ):
            with self.assertRaises(AssertionError, msg=(path, status, media)):
                self.document().take("GET", path, status, media, {"a": "b"})

    def test_an_operation_without_a_good_answer_or_a_refusal_is_missing(self) -> None:
        document = self.document()
        document.take("GET", "/things/1", 200, "application/json", {"a": "b"})
        document.take("GET", "/things/new", 404, "application/json", {"a": "b"})
        self.assertEqual(
            document.missing(),
            [
                "test: GET /things/{id} has no refusal",
                "test: GET /things/new has no good answer",
            ],
        )


class RouteMetricsTest(GatewayCase):
    def test_requests_are_counted_by_the_pattern_of_their_route_and_never_by_path(self) -> None:
        token = self.gateway.pair(self.gateway.unique("phone"))
        for path in ("/api/sessions/one/state", "/api/sessions/two/state", "/no/such/path"):
            self.assertEqual(self.gateway.fetch("GET", path, token).status, 404)
        page = self.gateway.admin_request("GET", "/metrics").body.decode()
        self.assertIn(
            'crab_http_requests_total{listener="public",route="/api/sessions/{session_id}/state",'
            'method="GET",status="4xx"} 2\n',
            page,
        )
        self.assertIn('{listener="public",route="other",method="other",status="4xx"} 1\n', page)
        self.assertIn('crab_http_request_duration_seconds_count{listener="public"', page)
        for path in ("/api/sessions/one", "/no/such"):
            self.assertNotIn(path, page)
