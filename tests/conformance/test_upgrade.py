"""docs/protocols/clawseed.md, section 1: the upgrade, and the first frames (checklist 1-10, 52)."""

from __future__ import annotations

import base64
import json
import os
import uuid
from typing import Any
from urllib.parse import quote

from support.case import GatewayCase
from support.device import Device, tool
from support.http import Response
from support.websocket import BINARY, Frame, Refused, WebSocket, upgrade_headers

ORIGIN, HOST_NAME = "https://app.example", "gw.example"


class UpgradeCase(GatewayCase):
    def upgrade(
        self,
        target: str = "/ws/chat",
        method: str = "GET",
        headers: dict[str, str] | None = None,
        token: str | None = None,
        drop: tuple[str, ...] = (),
    ) -> Response:
        """The answer to an upgrade request with these changes; 101 has no body."""
        lines = upgrade_headers(base64.b64encode(os.urandom(16)).decode())
        if token:
            lines["Authorization"] = f"Bearer {token}"
        lines |= headers or {}
        for name in drop:
            del lines[name]
        return self.gateway.fetch(method, target, headers=lines)

    def assert_refused(
        self, response: Response, status: int, code: str | None = None
    ) -> dict[str, Any]:
        body = response.json()
        self.assertEqual(response.status, status, body)
        self.assertEqual(body.keys(), {"error", "code"})
        self.assertTrue(body["error"])
        if code:
            self.assertEqual(body["code"], code)
        return body


class UpgradeTest(UpgradeCase):
    CONFIG = {"listen": {"allowed_origins": [ORIGIN], "host_names": [HOST_NAME]}}

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.token = cls.gateway.pair("upgrader")

    def dial(self, target: str = "/ws/chat", **options: Any) -> WebSocket:
        client = WebSocket(self.gateway.public, target, **options)
        self.addCleanup(client.stream.close)
        return client

    def bearer(self, token: str | None = None) -> dict[str, str]:
        return {"Authorization": f"Bearer {token or self.token}"}

    def test_clawseed_01_a_correct_upgrade_has_the_right_accept_key(self) -> None:
        client = self.dial(headers=self.bearer())  # checks status line, headers and key
        self.assertNotIn("content-length", client.response.headers)

    def test_clawseed_01_the_rfc_6455_example_key_gets_its_accept_key(self) -> None:
        response = self.upgrade(
            token=self.token, headers={"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
        )
        self.assertEqual(response.headers["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")

    def test_clawseed_01_header_words_match_in_any_case_and_among_others(self) -> None:
        headers = {"Upgrade": "WebSocket", "Connection": "keep-alive, UPGRADE"}
        self.assertEqual(self.upgrade(token=self.token, headers=headers).status, 101)

    def test_clawseed_01_other_methods_are_405_with_allow(self) -> None:
        for method in ("POST", "PUT", "DELETE"):
            with self.subTest(method):
                response = self.upgrade(method=method, token=self.token)
                self.assert_refused(response, 405)
                self.assertEqual(response.headers["allow"], "GET")

    def test_no_upgrade_asked_is_426_and_a_broken_one_400(self) -> None:
        response = self.gateway.fetch("GET", "/ws/chat", self.token)
        self.assert_refused(response, 426)
        self.assertEqual(response.headers["upgrade"].lower(), "websocket")
        broken = [
            {"Sec-WebSocket-Key": "short"},
            {"Sec-WebSocket-Key": "!" * 24},
            {"Sec-WebSocket-Version": "8"},
        ]
        for headers in broken:
            with self.subTest(headers):
                self.assertIn(
                    self.upgrade(token=self.token, headers=headers).status,
                    (400, 426) if "8" in headers.values() else (400,),
                )
        self.assert_refused(self.upgrade(token=self.token, drop=("Sec-WebSocket-Key",)), 400)

    def test_refusals_come_in_the_documented_order(self) -> None:
        foreign = {"Origin": "https://evil.example"}
        self.assert_refused(self.upgrade(method="POST", headers=foreign), 405)
        self.assert_refused(self.gateway.fetch("GET", "/ws/chat", headers=foreign), 426)
        self.assert_refused(self.upgrade(headers={**foreign, "Sec-WebSocket-Key": "short"}), 400)
        self.assert_refused(self.upgrade("/ws/chat?session_id=%20", headers=foreign), 403)
        self.assert_refused(self.upgrade("/ws/chat?session_id=%20"), 401)
        self.assert_refused(self.upgrade("/ws/chat?session_id=%20", token=self.token), 400)

    def test_clawseed_02_deflate_is_declined_unless_configured(self) -> None:
        client = self.dial(headers=self.bearer(), offer_deflate=True)
        self.assertFalse(client.deflate)
        self.assertIn("session_start", client.receive_text())

    def test_clawseed_02_a_compressed_frame_that_was_not_negotiated_is_1002(self) -> None:
        client = self.dial(headers=self.bearer(), offer_deflate=True)
        client.send_frame(Frame(1, b"\x2a\x00", rsv=4))
        self.assertEqual(client.wait_closed().code, 1002)

    def test_clawseed_02_only_the_subprotocol_is_echoed_and_only_if_offered(self) -> None:
        for offered, expected in (
            ((), None),
            (("clawseed.v1",), "clawseed.v1"),
            (("other", "clawseed.v1"), "clawseed.v1"),
            (("other",), None),
        ):
            with self.subTest(offered):
                self.assertEqual(
                    self.dial(headers=self.bearer(), subprotocols=offered).subprotocol, expected
                )

    def test_clawseed_02_the_credential_in_the_subprotocol_is_never_echoed(self) -> None:
        credential = f"bearer.{self.token}"
        self.assertEqual(
            self.dial(subprotocols=(credential, "clawseed.v1")).subprotocol, "clawseed.v1"
        )
        alone = self.dial(subprotocols=(credential,))
        self.assertIsNone(alone.subprotocol)
        self.assertNotIn(self.token, str(alone.response.headers))

    def test_clawseed_03_a_wrong_or_missing_token_is_401_without_upgrade(self) -> None:
        wrong = ["", "0" * 64, self.token[:-1], self.token + "0", self.token.upper()]
        for headers in [
            None,
            *({"Authorization": f"Bearer {token}"} for token in wrong),
            {"Authorization": f"Basic {self.token}"},
        ]:
            with self.subTest(headers):
                body = self.assert_refused(self.upgrade(headers=headers), 401)
                self.assertNotIn(self.token, json.dumps(body))

    def test_clawseed_04_each_carrier_works_alone(self) -> None:
        self.dial(headers=self.bearer())
        self.dial(subprotocols=("clawseed.v1", f"bearer.{self.token}"))
        self.dial(f"/ws/chat?token={self.token}")

    def test_clawseed_04_the_first_carrier_that_is_not_empty_alone_decides(self) -> None:
        wrong = "0" * 64
        good_query, bad_query = f"/ws/chat?token={self.token}", f"/ws/chat?token={wrong}"
        good_entry = (f"bearer.{self.token}",)
        refused: list[dict[str, Any]] = [
            {"target": good_query, "headers": self.bearer(wrong)},
            {"target": good_query, "subprotocols": (f"bearer.{wrong}",)},
            {"headers": self.bearer(wrong), "subprotocols": good_entry},
        ]
        for options in refused:
            with self.subTest(options), self.assertRaises(Refused) as caught:
                self.dial(**options)
            self.assertEqual(caught.exception.response.status, 401)
        self.dial(bad_query, headers=self.bearer())
        self.dial(bad_query, subprotocols=good_entry)
        self.dial(good_query, headers={"Authorization": "Bearer "})
        self.dial(good_query, subprotocols=("bearer.",))

    def test_clawseed_05_the_query_is_read_as_a_form(self) -> None:
        session = f"a-{uuid.uuid4()}"
        device = Device(
            self.gateway,
            self.token,
            session_id=session,
            query={"name": "Küche unten", "unknown": "x"},
            connect=False,
        )
        self.addCleanup(device.drop)
        self.assertEqual(device.session_id, session)
        self.assertEqual(device.session["name"], "Küche unten")
        client = self.dial(
            f"/ws/chat?session_id={session.replace('-', '%2D')}", headers=self.bearer()
        )
        self.assertEqual(json.loads(client.receive_text())["session_id"], session)

    def test_clawseed_05_plus_is_a_space_in_names(self) -> None:
        client = self.dial("/ws/chat?name=+Big+Kitchen%2B+", headers=self.bearer())
        start = json.loads(client.receive_text())
        self.assertEqual(start["name"], "Big Kitchen+")
        self.assertNotIn("persona", start)

    def test_clawseed_05_names_are_in_any_script_and_hold_no_control_characters(self) -> None:
        name = "分" * 128
        self.assertEqual(
            json.loads(
                self.dial(f"/ws/chat?name={quote(name)}", headers=self.bearer()).receive_text()
            )["name"],
            name,
        )
        for bad in (name + "身", "a\nb", "a\u202eb", "\x1b[2J", " "):
            with self.subTest(name=bad):
                with self.assertRaises(Refused) as refused:
                    self.dial(f"/ws/chat?name={quote(bad)}", headers=self.bearer())
                self.assertEqual(refused.exception.response.status, 400)

    def test_clawseed_06_session_start_comes_first_and_unprompted(self) -> None:
        device = Device(
            self.gateway, self.token, connect=False
        )  # waits for it and checks its fields
        self.addCleanup(device.drop)
        self.assertEqual(
            (device.session["v"], device.session["resumed"], device.session["message_count"]),
            (1, False, 0),
        )

    def test_clawseed_07_sessions_differ_unless_named_and_absent_fields_are_left_out(self) -> None:
        first, second = (self.open(self.token, connect=False) for _ in range(2))
        self.assertNotEqual(first.session_id, second.session_id)
        uuid.UUID(first.session_id)
        self.assertEqual(
            self.open(self.token, session_id=first.session_id, connect=False).session_id,
            first.session_id,
        )
        self.assertEqual(
            first.session.keys(), {"type", "v", "session_id", "resumed", "message_count"}
        )
        uuid.UUID(self.open(self.token, session_id="", connect=False).session_id)

    def test_clawseed_08_a_burst_before_anything_is_read_is_handled_in_order(self) -> None:
        client = self.dial(headers=self.bearer())
        frames = [
            {"type": "connect", "v": 1},
            {"type": "register_tools", "tools": [tool(self.unique("burst"))]},
            {"type": "message", "content": "hello"},
        ]
        client.send_raw(
            b"".join(Frame(1, json.dumps(frame).encode()).to_wire() for frame in frames)
        )
        kinds: list[str] = []
        while "error" not in kinds:
            frame = json.loads(client.receive_text())
            kinds.append(frame["type"])
        self.assertEqual(
            [kind for kind in kinds if kind != "agent_start"],
            ["session_start", "connected", "tools_registered", "error"],
        )
        self.assertEqual(frame["code"], "PROVIDER_ERROR")

    def test_clawseed_09_connect_works_with_any_version_and_session_id(self) -> None:
        for fields in (
            {},
            {"v": 1},
            {"v": 7},
            {"v": "1"},
            {"v": None},
            {"session_id": "other"},
            {"session_id": 5},
            {"device_name": None},
            {"capabilities": "all"},
            {"capabilities": None},
            {"surprise": [1]},
        ):
            with self.subTest(fields):
                device = self.open(self.token, connect=False)
                device.send("connect", **fields)
                self.assertEqual(device.expect("connected").keys(), {"type", "v", "message"})

    def test_clawseed_10_register_tools_or_message_may_be_the_first_frame(self) -> None:
        device = self.open(self.token, connect=False)
        self.assertEqual(device.register(tool(self.unique("first")))["registered"], 1)
        device = self.open(self.token, connect=False)
        device.send("message", content="hello")
        frames = [device.receive()]
        if frames[0]["type"] == "agent_start":
            frames.append(device.receive())
        self.assertEqual(frames[-1]["code"], "PROVIDER_ERROR")

    def test_clawseed_10_a_ping_or_binary_frame_before_connect_does_no_harm(self) -> None:
        device = self.open(self.token, connect=False)
        device.socket.ping(b"early")
        device.socket.wait_pong(b"early")
        device.socket.send_frame(Frame(BINARY, b"\x00\xff"))
        device.connect()

    def test_clawseed_52_origins_other_than_the_own_and_the_allowed_are_403(self) -> None:
        host = f"127.0.0.1:{self.gateway.public[1]}"
        for origin in (
            "null",
            "https://evil.example",
            ORIGIN + ".evil.example",
            "http://app.example",
            ORIGIN + ":444",
            "app.example",
            "",
        ):
            with self.subTest(origin):
                self.assert_refused(
                    self.upgrade(token=self.token, headers={"Origin": origin, "Host": host}), 403
                )
        for origin in (ORIGIN, ORIGIN + ":443", f"http://{host}"):
            with self.subTest(origin):
                self.assertEqual(
                    self.upgrade(token=self.token, headers={"Origin": origin, "Host": host}).status,
                    101,
                )

    def test_clawseed_52_hosts_other_than_loopback_and_configured_ones_are_403(self) -> None:
        for host in ("evil.example", "127.0.0.1.evil.example", HOST_NAME + ".evil.example"):
            with self.subTest(host):
                self.assert_refused(self.upgrade(token=self.token, headers={"Host": host}), 403)
        for host in ("localhost", "127.0.0.1:1", "[::1]:80", HOST_NAME, HOST_NAME.upper() + ":443"):
            with self.subTest(host):
                self.assertEqual(self.upgrade(token=self.token, headers={"Host": host}).status, 101)

    def test_clawseed_52_a_malformed_session_id_is_400(self) -> None:
        for text in ("a%20b", "a/b", "a" * 129, "%C3%A4", "a%00b", "a%0Ab"):
            with self.subTest(text):
                self.assert_refused(
                    self.upgrade(f"/ws/chat?session_id={text}", token=self.token), 400
                )
        self.assertEqual(
            self.upgrade(f"/ws/chat?session_id={'a' * 128}", token=self.token).status, 101
        )

    def test_clawseed_52_a_chat_session_of_another_principal_is_403(self) -> None:
        owner = self.open()
        self.assert_refused(
            self.upgrade(f"/ws/chat?session_id={owner.session_id}", token=self.token),
            403,
            "SESSION_OWNER_MISMATCH",
        )


class CompressionTest(UpgradeCase):
    CONFIG = {"devices": {"permessage_deflate": True}}

    def test_clawseed_02_deflate_is_declined_or_honoured_in_full(self) -> None:
        device = self.open(offer_deflate=True)
        name = self.unique("wide")
        frame = json.dumps(
            {"type": "register_tools", "tools": [tool(name, description="warm " * 400)]}
        )
        for fragments in (1, 3):
            device.socket.send_text(frame, compress=True, fragments=fragments)
            self.assertEqual(device.expect("tools_registered")["registered"], 1)
        self.assertEqual(device.registered()[0]["description"], "warm " * 400)

    def test_clawseed_02_plain_messages_pass_on_a_compressed_link(self) -> None:
        self.assertEqual(
            self.open(offer_deflate=True).register(tool(self.unique("plain")))["registered"], 1
        )


class CarrierTest(UpgradeCase):
    CONFIG = {"devices": {"query_token": False}}

    def test_clawseed_04_the_query_carrier_can_be_turned_off(self) -> None:
        self.assert_refused(self.upgrade(f"/ws/chat?token={self.gateway.pair('query')}"), 401)


class OpenLoopbackTest(GatewayCase):
    CONFIG = {"listen": {"open_loopback": True}}

    def test_an_open_loopback_listener_needs_no_token_but_checks_origins(self) -> None:
        device = Device(self.gateway, None)
        self.addCleanup(device.drop)
        self.assertEqual(device.register(tool(self.unique("open")))["registered"], 1)
        with self.assertRaises(Refused) as caught:
            Device(self.gateway, None, headers={"Origin": "https://evil.example"})
        self.assertEqual(caught.exception.response.status, 403)
