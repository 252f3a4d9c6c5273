"""docs/protocols/clawseed.md, sections 1 and 8: pairing codes, tokens, revocation (checklist
67)."""

from __future__ import annotations

import json
import re
import stat

from support.case import GatewayCase
from support.device import Device, tool
from support.http import Response
from support.websocket import Refused

CODE = re.compile(r"\b\d{4}-\d{4}-\d{4}\b")


class PairingCase(GatewayCase):
    def redeem(self, code: str) -> Response:
        return self.gateway.fetch("POST", "/pair", headers={"X-Pairing-Code": code}, body=b"")

    def code(self, *words: str) -> str:
        """A code from the command line."""
        return CODE.search(self.gateway.crab("devices", "pair", *words))[0]


class CodeTest(PairingCase):
    def test_clawseed_67_a_code_gives_a_working_token_once(self) -> None:
        code = self.code("--name", "Kitchen tablet")
        response = self.redeem(code)
        self.assertEqual(response.status, 200, response.body)
        body = response.json()
        self.assertEqual(body.keys(), {"paired", "persisted", "token", "message"})
        self.assertEqual((body["paired"], body["persisted"]), (True, True))
        self.assertRegex(body["token"], "^[0-9a-f]{64}$")
        device = self.open(body["token"])
        name = self.unique("tool")
        self.assertEqual(device.register(tool(name))["registered"], 1)  # the role device
        self.assertEqual(
            self.gateway.fetch("GET", "/v1/tools", body["token"]).status, 200
        )  # and the role caller
        call = self.gateway.start_call(f"kitchen-tablet__{name}")  # the slug comes from the name
        device.answer(device.next_call(name), "ok")
        call.result(10)
        self.code()  # another one is open, so that a used one is wrong and not unknown
        self.assertEqual(self.redeem(code).status, 403)

    def test_what_is_paired_without_a_role_calls_its_own_tools_and_no_others(self) -> None:
        token = self.redeem(self.code("--name", self.unique("phone"))).json()["token"]
        phone, laptop = self.open(token), self.open()
        own, others = self.unique("photo"), self.unique("files")
        phone.register(tool(own))
        laptop.register(tool(others))
        self.gateway.wait_listed(own, others)

        def call(name: str) -> tuple[int, str]:
            body = {
                "version": "v1",
                "call_id": self.unique("c"),
                "tool_name": name,
                "tenant_id": "default",
                "args": {},
                "context": {"agent_id": "a", "session_id": "s"},
            }
            answer = self.gateway.fetch(
                "POST",
                "/v1/tools/call",
                token,
                {"Content-Type": "application/json"},
                json.dumps(body).encode(),
            )
            return answer.status, answer.body.decode()

        self.assertIn("TOOL_NOT_FOUND", call(others)[1], "what may not be called is not there")
        listed = [
            each["name"] for each in self.gateway.fetch("GET", "/v1/tools", token).json()["tools"]
        ]
        self.assertEqual(listed, [own])
        wider = self.redeem(
            self.code("--name", self.unique("phone"), "--role", "device,caller")
        ).json()["token"]
        self.assertIn(
            others,
            [
                each["name"]
                for each in self.gateway.fetch("GET", "/v1/tools", wider).json()["tools"]
            ],
        )

    def test_a_code_may_come_without_dashes(self) -> None:
        self.assertEqual(self.redeem(self.code().replace("-", "")).status, 200)


class NoCodeTest(PairingCase):
    def test_clawseed_67_no_open_code_is_404(self) -> None:
        response = self.redeem("1234-1234-1234")
        self.assertEqual(response.status, 404)
        self.assertLessEqual({"error", "code"}, response.json().keys())


class WrongCodeTest(PairingCase):
    def test_clawseed_67_wrong_codes_are_403_and_five_of_them_close_the_code(self) -> None:
        code = self.code()
        wrong = "0000-0000-0000" if code != "0000-0000-0000" else "1111-1111-1111"
        for _ in range(5):
            self.assertEqual(self.redeem(wrong).status, 403)
        self.assertEqual(self.redeem(code).status, 404)


class TriesTest(PairingCase):
    def test_more_than_ten_tries_a_minute_are_429_with_retry_after(self) -> None:
        statuses = [self.redeem("0000-0000-0000").status for _ in range(10)]
        self.assertEqual(set(statuses), {404})
        response = self.redeem("0000-0000-0000")
        self.assertEqual(response.status, 429)
        self.assertGreaterEqual(int(response.headers["retry-after"]), 1)
        self.assertGreaterEqual(response.json()["retry_after"], 1)


class TokenTest(PairingCase):
    def test_the_command_line_makes_tokens_for_devices_and_callers(self) -> None:
        token = self.gateway.crab(
            "devices", "pair", "--token", "--name", "ci", "--role", "caller", "--expires", "30d"
        ).strip()
        self.assertRegex(token, "^[0-9a-f]{64}$")
        self.assertEqual(self.gateway.fetch("GET", "/v1/tools", token).status, 200)

    def test_clawseed_67_revoking_closes_with_4401_and_the_token_is_dead(self) -> None:
        token = self.new_token("revoked")
        name = self.unique("tool")
        device = self.open(token)
        device.register(tool(name))
        self.gateway.crab("devices", "revoke", self.slug)
        self.assertEqual(device.socket.wait_closed().code, 4401)
        self.gateway.wait_gone(name)
        with self.assertRaises(Refused) as caught:
            Device(self.gateway, token)
        self.assertEqual(caught.exception.response.status, 401)
        self.assertEqual(self.gateway.fetch("GET", "/v1/tools", token).status, 401)

    def test_revoking_one_device_leaves_the_others_alone(self) -> None:
        other = self.open()
        self.new_token("revoked")
        self.gateway.crab("devices", "revoke", self.slug)
        self.assert_alive(other)

    def test_tokens_are_nowhere_in_the_state_and_never_logged(self) -> None:
        token = self.new_token()
        self.open(token)
        self.open(token, headers={"Authorization": ""}, query={"token": token})
        for path in self.gateway.folder.rglob("*"):
            if path.is_file():
                self.assertNotIn(token.encode(), path.read_bytes(), path)

    def test_tokens_and_devices_survive_a_restart(self) -> None:
        token = self.new_token()
        self.gateway.stop()
        self.gateway.start()
        self.assertEqual(self.open(token).register(tool("a"))["registered"], 1)

    def test_the_admin_socket_is_the_owners_alone(self) -> None:
        self.assertEqual(stat.S_IMODE(self.gateway.admin.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(self.gateway.admin.parent.stat().st_mode), 0o700)

    def test_the_operator_sees_devices_but_no_token(self) -> None:
        token = self.new_token()
        slug = self.slug
        device = self.open(token)
        device.register(tool(self.unique("a")))
        response = self.gateway.admin_request("GET", "/v1/admin/devices")
        self.assertEqual(response.status, 200)
        self.assertIn(slug, json.dumps(response.json()))
        self.assertNotIn(token, response.body.decode())
