"""Tool hosts that stall, drip, lie, flood, redirect, die and answer late: rtp.md, section 4. None
of them reaches anybody else's call."""

from __future__ import annotations

import json
import shutil
import socket
import tempfile
import threading
import unittest
from collections import Counter
from pathlib import Path
from typing import Any

from support.case import GatewayCase
from support.gateway import Gateway, Reply
from support.tool_host import Request, ToolHost, host_tool, http
from support.wait import Stopwatch, eventually

MEGABYTE = 1 << 20


class BadHostCase(GatewayCase):
    """The gateway knows the host `bad`, which does what the test says, and `good`, which echoes."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="crab-hosts-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.CONFIG = {
            "hosts": [{"name": name, "unix": str(cls.folder / name)} for name in ("bad", "good")]
        }
        cls.bad = ToolHost(
            cls.folder / "bad",
            host_tool("read"),
            host_tool("write", side_effects=True),
            host_tool("keyed", side_effects=True, accepts_idempotency_key=True),
        ).start()
        cls.good = ToolHost(cls.folder / "good", host_tool("fine")).start()
        cls.addClassCleanup(cls.bad.stop)
        cls.addClassCleanup(cls.good.stop)
        super().setUpClass()
        cls.gateway.wait_listed("read", "write", "fine")

    def setUp(self) -> None:
        self.released = (
            threading.Event()
        )  # what a behaviour waits for, so that none outlives its test
        self.addCleanup(self.released.set)

    def behave(self, behaviour: Any) -> None:
        self.bad.behave = behaviour

    def call(self, tool: str = "read", **members: Any) -> Any:
        """A call to the bad host, and what came of it; `self.asked` says how often the host saw
        it."""
        name = self.unique("fault")
        reply = self.gateway.call(tool, {"n": 1}, call_id=name, **members)
        self.asked = len(self.bad.calls_of(name))
        return reply

    def assert_recovered(self) -> None:
        """Right after it, both hosts work."""
        self.bad.behave = lambda request: request.answer()
        self.assertEqual(self.gateway.call("fine", {"n": 2}).result, {"n": 2})
        self.assertEqual(self.gateway.call("read", {"n": 3}).result, {"n": 3})


class StallTest(BadHostCase):
    def test_a_host_that_never_answers_is_left_at_the_deadline_and_told(self) -> None:
        self.behave(lambda request: self.released.wait(10))
        slow = self.gateway.start_call("read", timeout_ms=700)
        watch = Stopwatch()
        self.assertEqual(self.gateway.call("fine", {"n": 1}).result, {"n": 1})
        self.assertLess(watch.seconds, 0.5)
        reply = slow.result(5)
        self.assertEqual((reply.status, reply.code), ("timeout", "TIMEOUT"))
        self.assertLess(reply.seconds, 1.5)
        self.assertEqual(self.bad.wait_cancel()["reason"], "timeout")
        self.assert_recovered()

    def test_a_host_that_drips_is_left_at_the_deadline(self) -> None:
        def drip(request: Request) -> None:
            for byte in http(200, json.dumps(request.response()).encode()):
                request.send(bytes([byte]))
                if self.released.wait(0.05):
                    return

        self.behave(drip)
        reply = self.call(timeout_ms=600)
        self.assertEqual(reply.code, "TIMEOUT")
        self.assertLess(reply.seconds, 1.5)
        self.assert_recovered()

    def test_an_answer_that_comes_late_meets_nobody(self) -> None:
        def late(request: Request) -> None:
            self.released.wait(10)
            request.answer(result={"late": True})

        self.behave(late)
        self.assertEqual(self.call(timeout_ms=200).code, "TIMEOUT")
        self.bad.behave = lambda request: request.answer()
        self.released.set()
        for n in range(5):
            self.assertEqual(self.gateway.call("read", {"n": n}).result, {"n": n})

    def test_calls_that_hang_do_not_keep_the_cancels_or_other_hosts_waiting(self) -> None:
        self.behave(lambda request: self.released.wait(10))
        calls = [self.gateway.start_call("read", timeout_ms=2500) for _ in range(100)]
        eventually(lambda: len(self.bad.calls) >= 60, "most of them are at the host")
        watch = Stopwatch()
        self.assertEqual(self.gateway.call("fine", {"n": 1}).result, {"n": 1})
        self.gateway.tools()
        self.assertLess(watch.seconds, 1.0)
        self.assertLessEqual({call.result(10).code for call in calls}, {"TIMEOUT", "RATE_LIMITED"})
        self.assert_recovered()


class SilentListTest(unittest.TestCase):
    def test_a_host_that_never_lists_its_tools_delays_neither_start_nor_others_nor_stop(
        self,
    ) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="crab-hosts-")))
        silent = self.enterContext(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        silent.bind(str(folder / "silent"))
        silent.listen(8)  # connections are made, and nobody ever takes them
        good = ToolHost(folder / "good", host_tool("fine")).start()
        self.addCleanup(good.stop)
        watch = Stopwatch()
        with Gateway(
            {
                "hosts": [
                    {"name": name, "unix": str(folder / name)}
                    for name in ("silent", "good", "absent")
                ]
            }
        ) as gateway:
            gateway.wait_listed("fine")
            self.assertEqual(gateway.call("fine", {"n": 1}).result, {"n": 1})
            self.assertIn(
                "crab_tool_hosts_answering 1\n",
                gateway.admin_request("GET", "/metrics").body.decode(),
            )
        self.assertLess(watch.seconds, 5)


class LieTest(BadHostCase):
    def test_answers_that_break_a_rule_are_internal_and_not_repeated(self) -> None:
        lies = [
            {"call_id": "another"},
            {"tool_name": "another"},
            {"status": "great"},
            {"version": "v2"},
            {"surprise": 1},
            {"duration_ms": -1},
            {"result": [1]},
            {"call_id": ...},
        ]
        for lie in lies:
            self.behave(lambda request, lie=lie: request.answer(**lie))
            self.assertEqual(self.call().code, "INTERNAL", lie)
            self.assertEqual(self.asked, 1, lie)
        self.assert_recovered()

    def test_what_is_no_http_is_internal(self) -> None:
        for garbage in (
            b"SSH-2.0-OpenSSH\r\n\r\n",
            b"\x00" * 4096,
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        ):
            self.behave(lambda request, garbage=garbage: request.send(garbage))
            self.assertEqual(self.call(timeout_ms=2000).code, "INTERNAL", garbage[:20])
            self.assertEqual(self.asked, 1)
        self.assert_recovered()

    def test_a_redirect_is_not_followed(self) -> None:
        before = len(self.good.calls)
        for status in (301, 302, 307, 308):
            self.behave(
                lambda request, status=status: request.send(
                    http(status, b"", {"Location": "/v1/tools/call"})
                )
            )
            self.assertEqual(self.call().code, "DEPENDENCY_UNAVAILABLE")
            self.assertEqual(self.asked, 1)
        self.assertEqual(len(self.good.calls), before)
        self.assert_recovered()

    def test_a_hundred_megabytes_are_not_read(self) -> None:
        def flood(request: Request) -> None:
            request.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in range(100):
                request.send(b"%x\r\n%s\r\n" % (MEGABYTE, b"x" * MEGABYTE))
            self.taken = True

        self.taken = False
        self.behave(flood)
        resident = self.gateway.forget_peak()
        self.assertEqual(self.call().code, "OVERSIZE")
        self.assertEqual(self.asked, 1)
        self.assertFalse(self.taken)
        self.assertLess(self.gateway.growth_since(resident), 48 * MEGABYTE)
        self.behave(
            lambda request: request.send(b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n")
        )
        self.assertEqual(self.call().code, "OVERSIZE")
        self.assert_recovered()

    def test_words_that_nobody_asked_for_spoil_only_their_connection(self) -> None:
        def chatty(request: Request) -> None:
            body = json.dumps(request.response()).encode()
            request.send(http(200, body) + http(200, b'{"surprise":true}'))

        self.behave(chatty)
        for n in range(5):
            self.assertEqual(self.gateway.call("read", {"n": n}).result, {"n": n})
        self.assert_recovered()


class DeathTest(BadHostCase):
    def dies_in_the_middle(self, request: Request) -> None:
        request.send(http(200, json.dumps(request.response()).encode())[:-10])
        request.die()

    def test_an_unsafe_call_that_lost_its_answer_has_an_unknown_outcome(self) -> None:
        for behaviour in (self.dies_in_the_middle, Request.die):
            self.behave(behaviour)
            reply = self.call("write")
            self.assertEqual((reply.status, reply.code), ("error", "OUTCOME_UNKNOWN"))
            self.assertEqual(self.asked, 1)
        self.assert_recovered()

    def test_a_safe_call_that_lost_its_answer_is_made_again(self) -> None:
        def dies_once(request: Request) -> None:
            if len(self.bad.calls_of(request.body["call_id"])) == 1:
                self.dies_in_the_middle(request)
            else:
                request.answer()

        self.behave(dies_once)
        for tool in ("read", "keyed"):
            self.assertEqual(self.call(tool).result, {"n": 1})
            self.assertEqual(self.asked, 2)
        first, second = self.bad.calls[-2:]
        self.assertEqual(first.body["idempotency_key"], second.body["idempotency_key"])

    def test_a_host_that_is_gone_is_unavailable_at_once_and_works_when_it_is_back(self) -> None:
        self.bad.behave = lambda request: request.answer()
        self.bad.stop()
        for _ in range(10):
            watch = Stopwatch()
            reply = self.call("write")
            self.assertEqual(
                (reply.status, reply.code), ("retryable_error", "DEPENDENCY_UNAVAILABLE")
            )
            self.assertLess(watch.seconds, 1.5)
        watch = Stopwatch()
        self.assertIn("write", self.gateway.tools())
        self.assertEqual(self.gateway.call("fine", {"n": 1}).result, {"n": 1})
        self.assertLess(watch.seconds, 0.5)
        self.bad.start()
        eventually(lambda: self.call("write").status == "ok", "the host is called again", limit=20)

    def test_a_host_that_dies_again_and_again_is_left_alone_and_tried_by_one_call_at_a_time(
        self,
    ) -> None:
        self.behave(Request.die)
        self.call("write")
        before = self.gateway.open_files()
        for _ in range(30):
            self.call("write")
        seen = len(self.bad.calls)
        codes = [self.call("write").code for _ in range(10)]
        tries = len(self.bad.calls) - seen
        self.assertLessEqual(
            tries, 3
        )  # pauses of 1, 2, 4 s; a call that was the try has an unknown outcome
        self.assertEqual(
            sorted(codes), ["DEPENDENCY_UNAVAILABLE"] * (10 - tries) + ["OUTCOME_UNKNOWN"] * tries
        )
        self.assertLessEqual(self.gateway.open_files(), before + 8)
        self.bad.behave = lambda request: request.answer()
        eventually(lambda: self.call().status == "ok", "the host is called again", limit=20)
        self.assert_recovered()


class ShyHost(ToolHost):
    """Tells its tools only while `tells` is set, and runs one key once, as a host that accepts keys
    does."""

    def __init__(self, path: Path, *tools: dict[str, Any]) -> None:
        super().__init__(path, *tools)
        self.tells, self.answers = threading.Event(), threading.Event()
        self.runs: Counter[str] = Counter()
        self.behave = self.run_once

    def run_once(self, request: Request) -> None:
        key = request.body["idempotency_key"]
        self.runs[key] += not self.runs[key] or request.body["tool_name"] != "keyed"
        if self.answers.wait(15):
            request.answer(result={"run": self.runs[key]})

    def _dispatch(
        self, link: socket.socket, method: str, target: str, headers: dict[str, str], body: bytes
    ) -> None:
        if (method, target) == ("GET", "/v1/tools") and not self.tells.is_set():
            link.shutdown(socket.SHUT_RDWR)
            return
        super()._dispatch(link, method, target, headers, body)


class GatewayDiesTest(GatewayCase):
    """What a repeat is told when the gateway was killed, before its hosts have told their tools
    again and after that."""

    @classmethod
    def setUpClass(cls) -> None:
        folder = Path(tempfile.mkdtemp(prefix="crab-hosts-"))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.CONFIG = {
            "hosts": [{"name": "shop", "unix": str(folder / "shop")}],
            "policy": [{"principal": "caller/stranger", "call": {"deny": ["shop__*"]}}],
        }
        cls.host = ShyHost(
            folder / "shop",
            host_tool("write", side_effects=True),
            host_tool("keyed", side_effects=True, accepts_idempotency_key=True),
        ).start()
        cls.addClassCleanup(cls.host.stop)
        super().setUpClass()

    def listed(self) -> None:
        self.host.tells.set()
        self.gateway.wait_listed("write", "keyed")

    def ended_call(self, tool: str, key: str) -> Reply:
        self.listed()
        self.host.answers.set()
        return self.gateway.call(tool, {"n": 1}, idempotency_key=key)

    def broken_call(self, tool: str, key: str, **members: Any) -> None:
        """One that the host has run when the gateway dies."""
        self.listed()
        self.host.answers.clear()
        before = len(self.host.calls)
        call = self.gateway.start_call(tool, {"n": 1}, idempotency_key=key, **members)
        self.host.wait_calls(before + 1)
        self.die()
        call.exception(10)

    def die(self) -> None:
        """The next gateway hears nothing of the host before listed()."""
        self.host.tells.clear()
        self.gateway.kill()
        self.host.answers.set()
        self.gateway.start()

    def test_a_repeat_of_a_call_that_ended_is_replayed_before_its_tool_is_known_again(self) -> None:
        key = self.unique("key")
        first = self.ended_call("write", key)
        self.die()
        for name in ("write", "shop__write"):
            repeat = self.gateway.call(name, {"n": 1}, idempotency_key=key)
            self.assertEqual(repeat.result, first.result)
            self.assertEqual(repeat.http.headers["crab-replayed"], "true")
        self.assertEqual(self.gateway.call("write", {"n": 2}, idempotency_key=key).code, "CONFLICT")
        self.assertEqual(self.host.runs[key], 1)

    def test_a_repeat_of_a_call_without_an_answer_is_unknown_and_never_of_an_unknown_tool(
        self,
    ) -> None:
        key = self.unique("key")
        self.broken_call("write", key)
        for known in (False, True):
            if known:
                self.listed()
            repeat = self.gateway.call("write", {"n": 1}, idempotency_key=key)
            self.assertEqual((repeat.code, repeat.error["retryable"]), ("OUTCOME_UNKNOWN", False))
        self.assertEqual(self.host.runs[key], 1)

    def test_a_tool_that_accepts_keys_is_asked_under_the_same_key_once_it_is_there(self) -> None:
        key = self.unique("key")
        self.broken_call("keyed", key, call_id="call-" + key)
        early = self.gateway.call("keyed", {"n": 1}, idempotency_key=key, call_id="call-" + key)
        self.assertEqual((early.status, early.code), ("retryable_error", "DEPENDENCY_UNAVAILABLE"))
        self.listed()
        self.assertEqual(
            self.gateway.call("keyed", {"n": 1}, idempotency_key=key, call_id="call-" + key).result,
            {"run": 1},
        )
        asked = self.host.calls_of("call-" + key)
        self.assertEqual([call.body["idempotency_key"] for call in asked], [key, key])
        self.assertEqual(self.host.runs[key], 1)

    def test_without_a_key_of_the_caller_the_host_gets_the_call_id_as_one_again(self) -> None:
        name = self.unique("call")
        self.listed()
        self.host.answers.clear()
        before = len(self.host.calls)
        call = self.gateway.start_call("keyed", {"n": 1}, call_id=name)
        self.host.wait_calls(before + 1)
        self.die()
        call.exception(10)
        self.listed()
        self.assertEqual(self.gateway.call("keyed", {"n": 1}, call_id=name).result, {"run": 1})
        self.assertEqual(
            [call.body["idempotency_key"] for call in self.host.calls_of(name)], [name, name]
        )

    def test_calls_that_were_never_made_wait_for_the_host_and_strangers_learn_nothing(self) -> None:
        key = self.unique("key")
        self.ended_call("write", key)
        self.die()
        for name in ("write", "shop__write"):
            reply = self.gateway.call(name, {"n": 1}, idempotency_key=key + "-new")
            self.assertEqual(
                (reply.status, reply.code, reply.error["retryable"]),
                ("retryable_error", "DEPENDENCY_UNAVAILABLE", True),
            )
            self.assertEqual(
                self.gateway.call(name, {"n": 1}, idempotency_key=key, caller="stranger").code,
                "TOOL_NOT_FOUND",
            )
        other = self.gateway.call("write", {"n": 1}, idempotency_key=key, caller="neighbour")
        self.assertEqual(other.code, "DEPENDENCY_UNAVAILABLE")
        self.listed()
        self.assertEqual(self.gateway.call("none", {"n": 1}).code, "TOOL_NOT_FOUND")
        self.assertEqual(self.host.runs[key], 1)
