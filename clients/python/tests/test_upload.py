"""Uploads come after the function has run, so no failure of theirs may look harmless."""

from __future__ import annotations

import json
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from crab import Blob, ToolError, upload
from crab.address import Address, Token
from crab.http import HttpClient
from http_double import Answer, Asked, serving

TERMS = upload.UploadTerms("/up", 10, 1_000)
TAKEN = (201, {"artifact": "a1"})
BUSY = (429, {"error": "too many uploads at once", "code": "RATE_LIMITED"})


class Uploads(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.enterContext(mock.patch.object(upload, "_FIRST_PAUSE", 0.001))
        self.asked: list[Asked] = []

    async def upload(
        self, answers: list[Answer], token: Token | None = None, seconds: float = 60
    ) -> str:
        def answer(asked: Asked) -> Answer:
            self.asked.append(asked)
            return answers.pop(0) if len(answers) > 1 else answers[0]

        async with serving(answer) as url:
            http = HttpClient(Address.parse(url))
            self.addAsyncCleanup(http.close)
            return await upload.upload(
                http,
                token or Token("t", None),
                TERMS,
                "c1",
                Blob(b"x" * 100, "text/plain"),
                time.monotonic() + seconds,
            )

    async def failure(self, answers: list[Answer], **options: float) -> ToolError:
        with self.assertRaises(ToolError) as failed:
            await self.upload(answers, **options)
        return failed.exception

    async def test_a_busy_gateway_is_asked_again(self) -> None:
        self.assertEqual(await self.upload([BUSY, None, (503, {}), TAKEN]), "a1")
        self.assertEqual(len(self.asked), 4)

    async def test_no_failure_says_that_nothing_was_done(self) -> None:
        for answer in (
            BUSY,
            None,
            (507, {"error": "a quota is used up", "code": "RATE_LIMITED"}),
            (503, {"error": "starting", "code": "UNAVAILABLE"}),
            (401, {"error": "no such token", "code": "UNAUTHENTICATED"}),
            (404, {"error": "no such call", "code": "NOT_FOUND"}),
        ):
            with self.subTest(answer=answer):
                failed = await self.failure([answer])
                self.assertEqual(failed.code, "INTERNAL")
                if answer:
                    self.assertIn(json.loads(json.dumps(answer[1]))["error"], failed.message)

    async def test_what_is_too_large_says_so(self) -> None:
        failed = await self.failure([(413, {"error": "1000 at most", "code": "OVERSIZE"})])
        self.assertEqual(failed.code, "OVERSIZE")

    async def test_it_is_not_repeated_beyond_the_deadline(self) -> None:
        before = time.monotonic()
        with mock.patch.object(upload, "_asked_pause", lambda response: 20.0):
            failed = await self.failure([BUSY], seconds=5)
        self.assertEqual((failed.code, len(self.asked)), ("INTERNAL", 1))
        self.assertLess(time.monotonic() - before, 4)

    async def test_a_new_token_is_read(self) -> None:
        file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "token"
        file.write_text("old")
        token = Token(None, file)
        self.assertEqual(token.value(), "old")
        file.write_text("new")
        self.assertEqual(await self.upload([(401, {}), TAKEN], token), "a1")
        sent = [asked.headers["authorization"] for asked in self.asked]
        self.assertEqual(sent, ["Bearer old", "Bearer new"])


if __name__ == "__main__":
    unittest.main()
