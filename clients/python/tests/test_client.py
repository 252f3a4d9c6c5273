"""What a caller does with refused tokens, lost answers and its own close()."""

from __future__ import annotations

import asyncio
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from crab import GatewayError, ToolClient, client
from http_double import Answer, Asked, serving


def result(asked: Asked) -> Answer:
    call_id = json.loads(asked.body)["call_id"]
    return 200, {
        "version": "v1",
        "call_id": call_id,
        "tool_name": "t",
        "status": "ok",
        "duration_ms": 1,
        "result": {},
    }


class Tokens(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = folder / "token"
        self.file.write_text("old")
        self.refused = 0
        self.wanted = "old"
        self.url = await self.enterAsyncContext(serving(self.answer))
        self.client = ToolClient(self.url, token_file=self.file, retries=0)
        self.addAsyncCleanup(self.client.close)

    def answer(self, asked: Asked) -> Answer:
        if asked.headers.get("authorization") != f"Bearer {self.wanted}":
            self.refused += 1
            return 401, {"error": "no such token", "code": "UNAUTHENTICATED"}
        if asked.path == "/v1/tools":
            return 200, {"tools": []}
        if asked.path == "/v1/tools/cancel":
            return 200, {"status": "not_found"}
        return (200, b"bytes") if asked.method == "GET" else result(asked)

    def rotate(self, token: str) -> None:
        self.wanted = token
        self.file.write_text(token)

    async def test_calls_that_are_refused_together_all_go_on_with_the_new_token(self) -> None:
        await self.client.call("t")
        self.rotate("new")
        await asyncio.gather(*(self.client.call("t") for _ in range(5)))
        self.assertGreaterEqual(self.refused, 1)

    async def test_every_request_reads_the_file_again(self) -> None:
        async def stream() -> None:
            async for _ in self.client.stream("t"):
                pass

        await self.client.tools()
        for number, ask in enumerate(
            (
                self.client.tools,
                stream,
                lambda: self.client.cancel("c"),
                lambda: self.client.artifact("/v1/artifacts/a"),
                lambda: self.client.call("t"),
            )
        ):
            with self.subTest(number):
                self.rotate(f"token-{number}")
                await ask()
                self.assertEqual(self.refused, number + 1)

    async def test_a_token_that_stays_wrong_is_tried_once(self) -> None:
        self.wanted = "another"
        with self.assertRaises(GatewayError) as failed:
            await self.client.call("t")
        self.assertEqual((failed.exception.status, failed.exception.may_have_run), (401, False))
        self.assertEqual(self.refused, 1)


class Lost(unittest.IsolatedAsyncioTestCase):
    async def failure(self, answers: list[Any], retries: int) -> tuple[GatewayError, set[str]]:
        ids: set[str] = set()

        def answer(asked: Asked) -> Answer:
            ids.add(json.loads(asked.body)["call_id"])
            given: Answer = answers.pop(0)
            return given

        async with serving(answer) as url:
            async with ToolClient(url, token="t", retries=retries) as caller:
                with self.assertRaises(GatewayError) as failed:
                    await caller.call("t", timeout=5)
                return failed.exception, ids

    async def test_a_call_whose_answer_is_lost_may_have_run_and_is_no_candidate_for_a_new_one(
        self,
    ) -> None:
        failed, ids = await self.failure([None, None, None], 2)
        self.assertEqual((failed.may_have_run, failed.retryable), (True, False))
        self.assertEqual(len(ids), 1)  # its own repeats have its id

    async def test_a_later_refusal_does_not_hide_that_the_first_attempt_may_have_run(self) -> None:
        failed, _ = await self.failure([None, (429, {"error": "slow down"})], 1)
        self.assertEqual((failed.status, failed.may_have_run), (429, True))
        self.assertFalse(failed.retryable)

    async def test_a_proxy_that_lost_the_gateway_does_not_know(self) -> None:
        for status, may_have_run in ((502, True), (504, True), (503, False), (429, False)):
            with self.subTest(status):
                failed, _ = await self.failure([(status, {})], 0)
                self.assertEqual(failed.may_have_run, may_have_run)

    async def test_nothing_was_sent_to_a_gateway_that_is_not_there(self) -> None:
        async with serving(lambda asked: None) as url:
            pass
        async with ToolClient(url, token="t", retries=0) as caller:
            with self.assertRaises(GatewayError) as failed:
                await caller.call("t")
        self.assertEqual((failed.exception.may_have_run, failed.exception.retryable), (False, True))

    async def test_a_stream_that_breaks_may_have_run_too(self) -> None:
        async with serving(lambda asked: None) as url:
            async with ToolClient(url, token="t") as caller:
                with self.assertRaises(GatewayError) as failed:
                    async for _ in caller.stream("t"):
                        pass
        self.assertEqual((failed.exception.may_have_run, failed.exception.retryable), (True, False))

    async def test_close_fails_calls_that_run_and_they_are_not_sent_again(self) -> None:
        came = asyncio.Event()
        asked = 0

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal asked
            asked += 1
            came.set()
            await reader.read()
            writer.close()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        self.addCleanup(server.close)
        port = server.sockets[0].getsockname()[1]
        caller = ToolClient(f"http://127.0.0.1:{port}", token="t", retries=5)
        with mock.patch.object(client, "_FIRST_PAUSE", 0.001):
            call = asyncio.create_task(caller.call("t", timeout=100))
            await came.wait()
            await caller.close()
            with self.assertRaises(GatewayError) as failed:
                async with asyncio.timeout(10):
                    await call
        self.assertIn("closed", str(failed.exception))
        self.assertTrue(failed.exception.may_have_run)
        self.assertEqual(asked, 1)

    async def test_a_connection_with_bytes_that_nobody_asked_for_is_not_used_again(self) -> None:
        links = 0
        good = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n" + b'{"tools":[]}'

        async def talkative(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal links
            links += 1
            try:
                while True:
                    await reader.readuntil(b"\r\n\r\n")
                    writer.write(good + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            except EOFError:
                writer.close()

        server = await asyncio.start_server(talkative, "127.0.0.1", 0)
        self.addCleanup(server.close)
        port = server.sockets[0].getsockname()[1]
        async with ToolClient(f"http://127.0.0.1:{port}", token="t") as caller:
            for _ in range(3):
                self.assertEqual(await caller.tools(), [])
        self.assertEqual(links, 3)


if __name__ == "__main__":
    unittest.main()
