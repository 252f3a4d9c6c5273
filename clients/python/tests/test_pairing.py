"""A code counts once, so its token needs a place beforehand."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from crab import PairingError
from crab.pairing import pair_async
from http_double import Answer, Asked, serving

CODE = "123456789012"


class Pairing(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.redeemed = 0
        self.given: Answer = (200, {"token": "t1"})
        self.url = await self.enterAsyncContext(serving(self.answer))

    def answer(self, asked: Asked) -> Answer:
        self.redeemed += 1
        return self.given

    async def test_no_code_is_spent_on_a_token_that_could_not_be_kept(self) -> None:
        for path in (self.folder / "missing" / "token", self.folder):
            with self.subTest(path=path), self.assertRaises(OSError):
                await pair_async(self.url, CODE, token_file=path)
        self.assertEqual(self.redeemed, 0)

    async def test_the_token_comes_whole_and_for_its_owner_alone(self) -> None:
        path = self.folder / "token"
        path.write_text("before")
        self.assertEqual(await pair_async(self.url, CODE, token_file=path), "t1")
        self.assertEqual((path.read_text(), path.stat().st_mode & 0o777), ("t1", 0o600))
        self.assertEqual(list(self.folder.iterdir()), [path])

    async def test_a_code_that_is_refused_leaves_the_old_token(self) -> None:
        path = self.folder / "token"
        path.write_text("before")
        self.given = (403, {"error": "wrong code"})
        with self.assertRaises(PairingError):
            await pair_async(self.url, CODE, token_file=path)
        self.assertEqual((path.read_text(), list(self.folder.iterdir())), ("before", [path]))

    async def test_a_code_does_not_travel_in_the_clear(self) -> None:
        with self.assertRaises(ValueError):
            await pair_async("http://gateway.example", CODE)


if __name__ == "__main__":
    unittest.main()
