"""A device's key signs for tokens, as docs/protocols/clawseed.md says."""

from __future__ import annotations

import base64
import json
import tempfile
import unittest
from pathlib import Path

from crab import Device, PairingError, libcrypto
from crab.address import Address, TokenRefused
from crab.device_key import KeyToken
from crab.http import HttpClient, HttpFailure
from crab.pairing import pair_key_async
from http_double import Answer, Asked, serving

CODE = "123456789012"


class Keys(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.folder / "key"
        self.public, self.tokens, self.status, self.redeemed = b"", 0, 200, 0
        self.url = await self.enterAsyncContext(serving(self.answer))
        self.http = HttpClient(Address.parse(self.url))
        self.addAsyncCleanup(self.http.close)

    def answer(self, asked: Asked) -> Answer:
        body = json.loads(asked.body or b"{}")
        if asked.path == "/pair":
            self.redeemed += 1
            spki = base64.b64decode(body["public_key"])
            self.assertEqual(spki[:12].hex(), "302a300506032b6570032100")
            self.public = spki[12:]
            return 200, {"paired": True, "key_id": "k1", "device": "kitchen"}
        if self.status != 200:
            return self.status, {"error": "not now"}
        if asked.path == "/device/challenge":
            return 200, {"nonce": f"n{self.tokens}"}
        said = f"crab-device-v1\nk1\nn{self.tokens}".encode()
        signature = base64.b64decode(body["signature"])
        if not libcrypto.ed25519_verify(self.public, said, signature):
            return 401, {"error": "wrong"}
        self.tokens += 1
        return 200, {"token": f"t{self.tokens}"}

    async def test_a_paired_key_gets_a_token_and_another_one_when_that_is_refused(self) -> None:
        await pair_key_async(self.url, CODE, key_file=self.file)
        self.assertEqual(self.file.stat().st_mode & 0o777, 0o600)
        key = KeyToken(self.file)
        for number in (1, 2):
            await key.ready(self.http)
            await key.ready(self.http)  # it is there
            self.assertEqual(key.headers(), {"Authorization": f"Bearer t{number}"})
            sent = key.number
            self.assertTrue(key.renew(sent))
            self.assertTrue(key.renew(sent))  # of two that were refused together
        self.assertEqual(self.tokens, 2)

    async def test_a_gateway_that_is_busy_is_asked_again_and_one_that_refuses_is_not(self) -> None:
        await pair_key_async(self.url, CODE, key_file=self.file)
        key = KeyToken(self.file)
        self.status = 503
        with self.assertRaises(HttpFailure):
            await key.ready(self.http)
        self.assertTrue(key.renew(key.number))
        self.status = 401
        with self.assertRaises(TokenRefused):
            await key.ready(self.http)
        self.assertFalse(key.renew(key.number))

    async def test_no_code_is_spent_on_a_key_that_could_not_be_kept(self) -> None:
        with self.assertRaises(OSError):
            await pair_key_async(self.url, CODE, key_file=self.folder / "missing" / "key")
        with self.assertRaises(PairingError):
            await pair_key_async(self.url, "1", key_file=self.file)
        self.assertEqual((self.redeemed, list(self.folder.iterdir())), (0, []))

    async def test_a_file_without_a_key_is_told_and_not_quoted(self) -> None:
        for text in ("", "[]", "{}", '{"key_id":"k","private_key":"AAAA"}', '{"key_id":"secret"'):
            self.file.write_text(text)
            with self.subTest(text), self.assertRaisesRegex(ValueError, "holds no device key"):
                KeyToken(self.file)
        await pair_key_async(self.url, CODE, key_file=self.file)
        self.file.chmod(0o640)
        with self.assertRaises(PermissionError):
            KeyToken(self.file)
        with self.assertRaises(ValueError):
            Device(self.url, name="Kitchen", token="t", key_file=self.file)


if __name__ == "__main__":
    unittest.main()
