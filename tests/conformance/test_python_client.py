"""The Python package as a caller: at a real gateway, and at servers that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
import threading
import unittest
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from crab import CallFailed, CallResult, GatewayError, Progress, ToolCall, ToolClient
from support.case import GatewayCase
from support.certificates import Authority
from support.gateway import Gateway
from support.python_device import PythonDevice
from support.tool_host import Request, ToolHost, host_tool
from support.wait import Stopwatch


def run(work: Awaitable[Any]) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(60):
            return await work

    return asyncio.run(bounded())


class CallerCase(GatewayCase):
    def client(self, **options: Any) -> ToolClient:
        options.setdefault("token", self.gateway.caller_token())
        return ToolClient(f"http://127.0.0.1:{self.gateway.public[1]}", **options)

    def with_client(self, work: Callable[[ToolClient], Awaitable[Any]], **options: Any) -> Any:
        async def whole() -> Any:
            async with self.client(**options) as client:
                return await work(client)

        return run(whole())

    def device(self, *functions: Any, **options: Any) -> PythonDevice:
        address = f"http://127.0.0.1:{self.gateway.public[1]}"
        device = PythonDevice(address, "py", self.new_token("py"), **options)
        self.addCleanup(device.close)
        for function in functions:
            device.device.tool(function)
        device.start().wait("connected")
        return device

    def failure(self, tool: str, args: Any = None, **options: Any) -> CallFailed:
        with self.assertRaises(CallFailed) as failed:
            self.with_client(lambda client: client.call(tool, args, **options))
        return failed.exception


class Calls(CallerCase):
    def test_tools_are_listed_and_called(self) -> None:
        def echo(value: Any) -> Any:
            """Gives it back."""
            return value

        self.device(echo)

        async def work(client: ToolClient) -> None:
            tools = {tool.name: tool for tool in await client.tools()}
            self.assertEqual(tools["echo"].description, "Gives it back.")
            self.assertTrue(tools["echo"].side_effects)
            for value in ("grüß — 🦀\u2028\x00", [1, None], {"a": {"b": 1.5}}, 2.5):
                result = await client.call("echo", {"value": value})
                self.assertEqual(result.value, value)
            calls = [client.call("echo", {"value": n}) for n in range(50)]
            results = await asyncio.gather(*calls)
            self.assertEqual([result.value for result in results], list(range(50)))

        self.with_client(work)

    def test_failures_have_their_codes(self) -> None:
        def strict(n: int) -> int:
            """Takes a number."""
            return n

        self.device(strict)
        failed = self.failure("strict", {"n": "x"})
        self.assertEqual((failed.code, failed.retryable), ("INVALID_ARGS", False))
        self.assertEqual(failed.details["errors"][0]["pointer"], "/n")
        self.assertEqual(self.failure("nobody_has_this").code, "TOOL_NOT_FOUND")

    def test_a_repeat_by_key_runs_once_and_says_so(self) -> None:
        runs: list[int] = []

        def count() -> int:
            """Counts its runs."""
            runs.append(1)
            return len(runs)

        self.device(count)

        async def work(client: ToolClient) -> None:
            first = await client.call("count", idempotency_key="order-17")
            again = await client.call("count", idempotency_key="order-17")
            self.assertEqual((first.value, first.replayed), (1, False))
            self.assertEqual((again.value, again.replayed), (1, True))
            with self.assertRaises(CallFailed) as conflict:
                await client.call("list_devices", idempotency_key="order-17")
            self.assertEqual(conflict.exception.code, "CONFLICT")

        self.with_client(work)
        self.assertEqual(len(runs), 1)

    def test_progress_comes_before_the_result(self) -> None:
        def slow(call: ToolCall) -> str:
            """Says how far it is."""
            call.progress("begun", 1, 2)
            call.wait(0.2)
            call.progress("ünterwegs", 2, 2)
            return "x" * 300_000

        self.device(slow)

        async def work(client: ToolClient) -> list[Any]:
            return [event async for event in client.stream("slow")]

        *news, result = self.with_client(work)
        self.assertEqual(news, [Progress("begun", 1, 2), Progress("ünterwegs", 2, 2)])
        self.assertIn("artifact", result.result)

    def test_an_artifact_is_fetched(self) -> None:
        def much() -> str:
            """Much."""
            return "ß" * 1_000_000

        self.device(much)

        async def work(client: ToolClient) -> bytes:
            result = await client.call("much")
            return await client.artifact(result.result["artifact"]["href"])

        self.assertEqual(self.with_client(work), ("ß" * 1_000_000).encode())

    def test_leaving_a_stream_and_cancel_stop_the_function(self) -> None:
        running, stopped = threading.Semaphore(0), threading.Semaphore(0)

        def endless(call: ToolCall) -> None:
            """Waits until it is stopped."""
            call.progress("here")
            running.release()
            if call.wait(30):
                stopped.release()

        self.device(endless)

        async def leave(client: ToolClient) -> None:
            async with contextlib.aclosing(client.stream("endless")) as events:
                async for _ in events:
                    break

        self.with_client(leave)
        self.assertTrue(stopped.acquire(timeout=10))

        async def cancel(client: ToolClient) -> None:
            call = asyncio.create_task(client.call("endless", call_id="py-cancel"))
            await asyncio.to_thread(running.acquire, timeout=10)
            await asyncio.to_thread(running.acquire, timeout=10)
            self.assertEqual(await client.cancel("py-cancel"), "cancelling")
            with self.assertRaises(CallFailed) as failed:
                await call
            self.assertEqual(failed.exception.code, "CANCELLED")
            self.assertEqual(await client.cancel("nobody"), "not_found")

        self.with_client(cancel)
        self.assertTrue(stopped.acquire(timeout=10))

    def test_a_deadline_holds(self) -> None:
        def sleepy(call: ToolCall) -> None:
            """Sleeps."""
            call.wait(20)

        self.device(sleepy)
        watch = Stopwatch()
        failed = self.failure("sleepy", timeout=0.3)
        self.assertEqual((failed.status, failed.code), ("timeout", "TIMEOUT"))
        self.assertLess(watch.seconds, 4)
        with self.assertRaises(ValueError):
            self.failure("sleepy", timeout=121)

    def test_a_wrong_token_is_refused_and_not_repeated(self) -> None:
        for token in ("0" * 64, ""):
            with self.assertRaises(GatewayError) as refused:
                self.with_client(lambda client: client.call("echo"), token=token)
            self.assertEqual((refused.exception.status, refused.exception.retryable), (401, False))
        with self.assertRaises(ValueError):
            self.with_client(lambda client: client.tools(), token="a b\r\nX: y")

    def test_a_token_file_is_read_again_after_a_refusal(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "token").write_text("0" * 64)

        async def work(client: ToolClient) -> Any:
            with self.assertRaises(GatewayError):
                await client.call("list_devices")
            (folder / "token").write_text(self.gateway.caller_token() + "\n")
            return await client.call("list_devices")

        result = self.with_client(work, token=None, token_file=folder / "token")
        self.assertIsInstance(result, CallResult)

    def test_the_admin_socket_calls_explains_and_remembers(self) -> None:
        async def work() -> None:
            async with ToolClient(f"unix:{self.gateway.admin}") as client:
                await client.call("list_devices", call_id="py-remembered")
                record = await client.record("py-remembered")
                self.assertEqual(record["tool"], "list_devices")
                why = await client.explain("list_devices", "caller/tester")
                self.assertEqual(why.verdict, "allow")
                self.assertTrue(why.steps)
                with self.assertRaises(GatewayError) as nobody:
                    await client.record("no such/call")
                self.assertEqual(nobody.exception.status, 404)

        run(work())
        with self.assertRaises(ValueError):
            self.with_client(lambda client: client.explain("list_devices", "caller/tester"))


class Repeats(CallerCase):
    def setUp(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="crab-py-")))
        self.host = ToolHost(
            folder / "h.sock", host_tool("read"), host_tool("write", side_effects=True)
        ).start()
        self.addCleanup(self.host.stop)
        self.gateway = self.enterContext(
            Gateway({"hosts": [{"name": "h", "unix": str(self.host.path)}]})
        )
        self.gateway.wait_listed("read", "write")

    def test_what_had_no_effect_is_repeated_under_the_same_id_and_key(self) -> None:
        seen: list[Request] = []

        def behave(request: Request) -> None:
            seen.append(request)
            if len(seen) <= 4:  # the gateway itself asks three times
                request.fail("RATE_LIMITED", "retryable_error", retryable=True)
            else:
                request.answer()

        self.host.behave = behave
        result = self.with_client(lambda client: client.call("write", {"n": 1}))
        self.assertEqual(result.result["n"], 1)
        self.assertEqual(len({request.body["call_id"] for request in seen}), 1)
        self.assertEqual(len({request.body["idempotency_key"] for request in seen}), 1)

    def test_an_unknown_outcome_is_never_repeated(self) -> None:
        self.host.behave = lambda request: request.die()
        failed = self.failure("write")
        self.assertEqual((failed.code, failed.retryable), ("OUTCOME_UNKNOWN", False))
        self.assertEqual(len(self.host.calls), 1)

    def test_a_gateway_that_is_killed_in_the_middle_of_a_call_does_not_run_it_twice(self) -> None:
        gate = threading.Event()
        self.addCleanup(gate.set)
        self.gateway.config["listen"]["public"] = f"127.0.0.1:{self.gateway.public[1]}"

        def behave(request: Request) -> None:
            gate.wait(20)
            request.answer()

        self.host.behave = behave

        async def work(client: ToolClient) -> str:
            call = asyncio.create_task(client.call("write", idempotency_key="once"))
            await asyncio.to_thread(self.host.wait_calls, 1)
            await asyncio.to_thread(self.gateway.kill)
            with self.assertRaises((CallFailed, GatewayError)):
                await call
            gate.set()
            await asyncio.to_thread(self.gateway.start)
            with self.assertRaises(CallFailed) as failed:
                await client.call("write", idempotency_key="once")
            return failed.exception.code

        # there is no answer, and nobody listens at the address: both are repeated, in vain
        self.assertEqual(self.with_client(work, retries=1), "OUTCOME_UNKNOWN")
        self.assertEqual(len(self.host.calls), 1)


class Tls(unittest.TestCase):
    def test_only_the_authority_that_is_named_is_trusted(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        authority, other = Authority(folder / "a"), Authority(folder / "b")
        cert, key = authority.issue("gateway", "IP:127.0.0.1")
        tls = {"cert": str(cert), "key": str(key)}
        with Gateway({"listen": {"public": "127.0.0.1:0", "tls": tls}}) as gateway:
            address = f"https://127.0.0.1:{gateway.public[1]}"

            async def tools(ca_file: Path | None) -> Any:
                async with ToolClient(address, token="0" * 64, ca_file=ca_file) as client:
                    return await client.tools()

            with self.assertRaises(GatewayError) as refused:
                run(tools(authority.cert))  # the token is wrong, but the gateway was asked
            self.assertEqual(refused.exception.status, 401)
            for wrong in (other.cert, None):
                with self.assertRaises(GatewayError) as refused:
                    run(tools(wrong))
                self.assertEqual(
                    (refused.exception.status, refused.exception.retryable), (0, False)
                )
                self.assertIn("not trusted", refused.exception.message)

    def test_a_token_does_not_travel_in_the_clear(self) -> None:
        with self.assertRaises(ValueError):
            ToolClient("http://gateway.example:42617", token="t")
        for address in ("ftp://127.0.0.1", "http://", "unix:relative", "http://u@127.0.0.1"):
            with self.subTest(address=address), self.assertRaises(ValueError):
                ToolClient(address, token="t")


def answer(call_id: str, **members: Any) -> bytes:
    body = {
        "version": "v1",
        "call_id": call_id,
        "tool_name": "t",
        "status": "ok",
        "duration_ms": 1,
        "result": {},
        **members,
    }
    return json.dumps(body).encode()


class HostileServer(unittest.TestCase):
    """Servers that answer the call `c` with these bytes, and keep the connection open."""

    def ask(self, raw: bytes, close: bool = False, **options: Any) -> GatewayError | CallResult:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(Exception):
                await reader.readuntil(b"\r\n\r\n")
                writer.write(raw)
                await writer.drain()
                if not close:
                    await reader.read()
            writer.close()

        async def work() -> GatewayError | CallResult:
            server = await asyncio.start_server(serve, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            async with server, ToolClient(
                f"http://127.0.0.1:{port}", token="t", retries=0, max_reply_bytes=10_000
            ) as client:
                try:
                    return await client.call("t", call_id="c", timeout=1, **options)
                except GatewayError as failed:
                    return failed

        return run(work())

    @staticmethod
    def http(body: bytes, *fields: str, status: int = 200) -> bytes:
        lines = [f"HTTP/1.1 {status} Text", *fields, f"Content-Length: {len(body)}", "", ""]
        return "\r\n".join(lines).encode() + body

    def test_a_good_answer_passes_and_interim_ones_are_read_over(self) -> None:
        good = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + self.http(answer("c"))
        self.assertIsInstance(self.ask(good), CallResult)
        body = answer("c")
        chunks = b"%x;a=b\r\n%s\r\n0\r\nTrailer: x\r\n\r\n" % (len(body), body)
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        self.assertIsInstance(self.ask(head + chunks), CallResult)

    def test_broken_answers_are_refused_with_words_and_never_hang(self) -> None:
        chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        for name, raw in {
            "no HTTP": b"SSH-2.0-OpenSSH\r\n\r\n",
            "switching": b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
            "no length": b"HTTP/1.1 200 OK\r\n\r\n{}",
            "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
            "length and chunks": self.http(answer("c"), "Transfer-Encoding: chunked"),
            "negative": b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "too long": b"HTTP/1.1 200 OK\r\nContent-Length: 10001\r\n\r\n",
            "endless head": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 30_000,
            "folded": b"HTTP/1.1 200 OK\r\nX: y\r\n z\r\nContent-Length: 0\r\n\r\n",
            "bad chunk": chunked + b"zz\r\n",
            "endless chunks": chunked + b"1000\r\n" + b"x" * 4096 + b"\r\nffff\r\n",
            "no end of chunk": chunked + b"1\r\nxy\r\n",
            "no JSON": self.http(b"<html>"),
            "no object": self.http(b"[]"),
            "deep": self.http(b"[" * 5_000),
            "another call": self.http(answer("d")),
            "no status": self.http(answer("c", status="fine")),
            "no result": self.http(answer("c", result=7)),
            "redirect": self.http(b"", "Location: http://elsewhere/", status=302),
            "silence": b"",
        }.items():
            with self.subTest(name):
                watch = Stopwatch()
                failed = self.ask(raw)
                self.assertIsInstance(failed, GatewayError)
                self.assertTrue(str(failed))
                self.assertLess(watch.seconds, 8)

    def test_a_connection_that_ends_is_told_from_a_final_answer(self) -> None:
        for lost in (b"", self.http(answer("c"))[:-3]):  # a new call would be a second one
            failed = self.ask(lost, close=True)
            self.assertEqual((failed.retryable, failed.may_have_run), (False, True))
        slow_down = self.ask(self.http(b"{}", "Retry-After: 7", status=429))
        self.assertEqual((slow_down.retryable, slow_down.retry_after), (True, 7))
        self.assertFalse(slow_down.may_have_run)


if __name__ == "__main__":
    unittest.main()
