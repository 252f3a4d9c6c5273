"""The cryptography of pairing against the vectors of docs/protocols/rtp.md, 5.9."""

from __future__ import annotations

import base64
import hashlib
import unittest

from crab import libcrypto
from crab.remote import canonical

GATEWAY, REMOTE = bytes(range(0x20)), bytes(range(0x20, 0x40))
REMOTE_X, EPHEMERAL_X = bytes(range(0x40, 0x60)), bytes(range(0x60, 0x80))
SEALED = base64.b64decode(
    "AAECAwQFBgcICQoLLHLM0IeeE6/+flpkXcfgz8jUd/kdrTqW"
    "s+oERixZVmTR+BjqHwUQduvAL9veqB8aGLiPDNE8oJz1eXhX"
)
PLAIN = b"oKGio6SlpqeoqaqrrK2ur7CxsrO0tba3uLm6u7y9vr8="


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


class VectorsTest(unittest.TestCase):
    def test_keys_and_signature_of_v1(self) -> None:
        key = "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="
        self.assertEqual(b64(libcrypto.ed25519_public(GATEWAY)), key)
        gateway = {
            "gateway_id": "gw_home",
            "public_key_ed25519": key,
            "nonce": "gIGCg4SFhoeIiYqLjI2Oj5CRkpOUlZaX",
            "issued_at": "2026-02-13T16:00:00.12Z",
        }
        head = {"type": "pair.init", "version": "v1", "pairing_id": bytes(range(16)).hex()}
        signed = canonical({**head, "gateway": gateway})
        self.assertEqual(len(signed), 267)
        signature = libcrypto.ed25519_sign(GATEWAY, signed)
        self.assertEqual(
            b64(signature),
            "ARlj9lnpwOXx/h/SBqLNQ5KuBiP5OFjFKBcTT4MwL2Vt"
            "IF8dK8rfxcOYuB/7ez9ZBiljqeirjPF0t3l9J86TDw==",
        )
        public = base64.b64decode(key)
        self.assertTrue(libcrypto.ed25519_verify(public, signed, signature))
        self.assertFalse(libcrypto.ed25519_verify(public, signed + b" ", signature))

    def test_the_challenge_opens_and_no_flipped_byte_does(self) -> None:
        ephemeral = libcrypto.x25519_public(EPHEMERAL_X)
        aad = canonical(
            {
                "pairing_id": bytes(range(16)).hex(),
                "challenge_id": bytes(range(16, 32)).hex(),
                "ephemeral_public_key_x25519": b64(ephemeral),
            }
        )
        self.assertEqual(len(aad), 176)
        secret = libcrypto.x25519(REMOTE_X, ephemeral)
        self.assertEqual(
            secret.hex(), "d6fb939511b2381bc8599b4b8edc5968829450dfd7a87aebe78a703cd04cd54e"
        )
        key = hashlib.sha256(secret + aad).digest()
        self.assertEqual(libcrypto.gcm_open(key, SEALED[:12], SEALED[12:], aad), PLAIN)
        for place in range(12, len(SEALED)):
            flipped = bytearray(SEALED)
            flipped[place] ^= 1
            with self.assertRaises(ValueError):
                libcrypto.gcm_open(key, SEALED[:12], bytes(flipped[12:]), aad)

    def test_a_key_of_small_order_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            libcrypto.x25519(REMOTE_X, bytes(32))


if __name__ == "__main__":
    unittest.main()
