"""Devices that prove who they are by a key: docs/protocols/clawseed.md, section 9, "Device
keys"."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.case import GatewayCase
from support.device import tool
from support.gateway import program
from support.http import Response
from support.wait import eventually
from support.websocket import Refused

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from libcrypto import ed25519_public, ed25519_sign  # noqa: E402

_SPKI_ED25519 = bytes.fromhex("302a300506032b6570032100")


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


class Key:
    """A device's key and what it does with it."""

    def __init__(self, case: GatewayCase) -> None:
        self.gateway = case.gateway
        self.seed = os.urandom(32)
        self.spki = text(_SPKI_ED25519 + ed25519_public(self.seed))
        self.key_id = ""

    def pair(self, name: str) -> dict[str, Any]:
        code = self.gateway.admin_request("POST", "/v1/admin/devices/pair", {"name": name}).json()[
            "code"
        ]
        answer = self.gateway.fetch(
            "POST", "/pair", headers={"X-Pairing-Code": code}, body={"public_key": self.spki}
        )
        assert answer.status == 200, answer.body
        self.key_id = answer.json()["key_id"]
        return answer.json()

    def nonce(self) -> str:
        return self.gateway.fetch("POST", "/device/challenge").json()["nonce"]

    def exchange(self, nonce: str, signature: bytes | None = None) -> Response:
        signature = signature or ed25519_sign(
            self.seed, f"crab-device-v1\n{self.key_id}\n{nonce}".encode()
        )
        return self.gateway.fetch(
            "POST",
            "/device/token",
            body={"key_id": self.key_id, "nonce": nonce, "signature": text(signature)},
        )

    def token(self) -> str:
        answer = self.exchange(self.nonce())
        assert answer.status == 200, answer.body
        return answer.json()["token"]


class DeviceKeysTest(GatewayCase):
    def paired(self, name: str = "tablet") -> Key:
        key = Key(self)
        self.slug = key.pair(self.unique(name))["device"]
        return key

    def test_a_key_is_paired_by_a_code_and_gets_no_token_that_lasts(self) -> None:
        answer = Key(self).pair(self.unique("tablet"))
        self.assertNotIn("token", answer)
        self.assertEqual((answer["paired"], answer["persisted"]), (True, True))
        self.assertRegex(answer["key_id"], "^[0-9a-f]{8}$")

    def test_a_signed_challenge_opens_everything_that_a_token_opens(self) -> None:
        key = self.paired()
        name, token = self.unique("tool"), key.token()
        device = self.open(token)
        device.register(tool(name))
        call = self.gateway.start_call(f"{self.slug}__{name}")
        device.answer(device.next_call(name), "by key")
        self.assertEqual(call.result(10).result, {"text": "by key"})
        self.assertEqual(self.gateway.fetch("GET", "/api/status", token).status, 200)

    def test_a_nonce_is_good_once_and_only_with_the_right_signature(self) -> None:
        key = self.paired()
        nonce = key.nonce()
        self.assertEqual(key.exchange(nonce, os.urandom(64)).status, 401)
        self.assertEqual(key.exchange(nonce).status, 200)
        self.assertEqual(key.exchange(nonce).status, 401)
        self.assertEqual(key.exchange("0" * 96).status, 401)
        self.assertEqual(
            self.gateway.fetch("POST", "/device/token", body={"key_id": key.key_id}).status, 400
        )

    def test_a_stolen_token_of_a_key_ends_with_the_process_and_the_key_does_not(self) -> None:
        key = self.paired()
        token = key.token()
        self.gateway.stop()
        self.gateway.start()
        with self.assertRaises(Refused) as refused:
            self.open(token)
        self.assertEqual(refused.exception.response.status, 401)
        self.open(key.token())

    def test_a_revoked_key_closes_its_links_with_4401_and_signs_for_nothing(self) -> None:
        key = self.paired()
        device = self.open(key.token())
        self.gateway.crab("devices", "revoke", self.slug)
        self.assertEqual(device.socket.wait_closed().code, 4401)
        self.assertEqual(key.exchange(key.nonce()).status, 401)

    def test_a_key_that_is_none_is_refused_and_the_code_stays_good(self) -> None:
        code = self.gateway.admin_request(
            "POST", "/v1/admin/devices/pair", {"name": self.unique("tablet")}
        ).json()["code"]
        refused = self.gateway.fetch(
            "POST",
            "/pair",
            headers={"X-Pairing-Code": code},
            body={"public_key": text(b"nonsense")},
        )
        self.assertEqual(refused.status, 400)
        self.assertEqual(
            self.gateway.fetch(
                "POST",
                "/pair",
                headers={"X-Pairing-Code": code},
                body={"public_key": Key(self).spki},
            ).status,
            200,
        )

    def test_a_stolen_code_is_of_no_use_once_it_was_used(self) -> None:
        key = Key(self)
        code = self.gateway.admin_request(
            "POST", "/v1/admin/devices/pair", {"name": self.unique("tablet")}
        ).json()["code"]
        body = {"public_key": key.spki}
        self.assertEqual(
            self.gateway.fetch("POST", "/pair", headers={"X-Pairing-Code": code}, body=body).status,
            200,
        )
        self.assertIn(
            self.gateway.fetch(
                "POST",
                "/pair",
                headers={"X-Pairing-Code": code},
                body={"public_key": Key(self).spki},
            ).status,
            (403, 404),
        )

    def test_a_page_of_another_origin_gets_neither_challenge_nor_token(self) -> None:
        for path in ("/device/challenge", "/device/token", "/pair"):
            self.assertEqual(
                self.gateway.fetch(
                    "POST", path, headers={"Origin": "http://evil.example"}, body={}
                ).status,
                403,
            )

    def test_crab_device_pairs_by_key_and_comes_back_with_it(self) -> None:
        name = self.unique("laptop")
        code = self.gateway.admin_request("POST", "/v1/admin/devices/pair", {"name": name}).json()[
            "code"
        ]
        state = self.gateway.folder / f"{name}.json"
        words = [
            program(),
            "device",
            "--gateway",
            "ws://{}:{}".format(*self.gateway.public),
            "--name",
            name,
            "--state",
            str(state),
        ]
        device = subprocess.Popen(
            [*words, "--pair", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            eventually(
                lambda: any("device_info" in each for each in self.gateway.tools()),
                "the machine's tools are listed",
            )
        finally:
            device.terminate()
            device.wait(20)
        self.assertIn(
            "PRIVATE KEY",
            state.read_text()
            + "".join(path.read_text() for path in state.parent.glob(f"{name}*") if path.is_file()),
        )
        eventually(
            lambda: not any("device_info" in each for each in self.gateway.tools()), "it has left"
        )
        device = subprocess.Popen([*words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            eventually(
                lambda: any("device_info" in each for each in self.gateway.tools()), "it is back"
            )
        finally:
            device.terminate()
            device.wait(20)
