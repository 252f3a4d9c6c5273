"""docs/protocols/rtp.md, section 4: the gateway as client of tool hosts, scripted ones and a second
gateway."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import unittest
from pathlib import Path
from typing import Any

from support.case import GatewayCase
from support.device import Device, tool
from support.gateway import Gateway
from support.tool_host import ToolHost, host_tool
from support.wait import eventually


class ToolHostCase(GatewayCase):
    """One gateway that knows the hosts `one` and `two`, and `late`, which is not there at first."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="crab-hosts-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.CONFIG = {
            "hosts": [
                {"name": name, "unix": str(cls.folder / name)} for name in ("one", "two", "late")
            ]
        }
        cls.one = ToolHost(
            cls.folder / "one",
            host_tool("read"),
            host_tool("both"),
            host_tool("write", side_effects=True),
        ).start()
        cls.two = ToolHost(cls.folder / "two", host_tool("both"), host_tool("other")).start()
        cls.addClassCleanup(cls.one.stop)
        cls.addClassCleanup(cls.two.stop)
        super().setUpClass()
        cls.gateway.wait_listed("read", "write", "other", "one__both", "two__both")

    def behave(self, behaviour: Any) -> None:
        """How `one` answers until the test ends."""
        self.one.behave = behaviour
        self.addCleanup(setattr, self.one, "behave", lambda request: request.answer())


class CallTest(ToolHostCase):
    def test_a_call_reaches_the_host_and_its_result_comes_back(self) -> None:
        self.assertEqual(self.gateway.call("read", {"n": 1}).result, {"n": 1})
        self.assertEqual(self.gateway.call("one__read", {"n": 2}).result, {"n": 2})
        self.assertEqual(self.one.calls[-1].body["tool_name"], "read")

    def test_the_request_has_what_the_schema_wants_and_nothing_empty(self) -> None:
        self.gateway.call(
            "read",
            {"n": 1},
            call_id="form-1",
            timeout_ms=1000,
            context={"agent_id": "a", "session_id": "s", "trace_id": "t"},
        )
        body = self.one.calls_of("form-1")[0].body
        self.assertEqual(
            body.keys(),
            {"version", "call_id", "tool_name", "tenant_id", "args", "timeout_ms", "context"},
        )
        self.assertEqual(
            body["context"],
            {"agent_id": "caller/tester/a", "session_id": "s", "trace_id": "t"},
            "the caller does not act for the agent a",
        )
        self.assertLessEqual(body["timeout_ms"], 900)
        self.gateway.call("write", call_id="form-2")
        self.assertEqual(self.one.calls_of("form-2")[0].body["idempotency_key"], "form-2")
        self.gateway.call("write", call_id="form-3", idempotency_key="key-3")
        self.assertEqual(self.one.calls_of("form-3")[0].body["idempotency_key"], "key-3")

    def test_a_name_that_two_hosts_offer_is_ambiguous_and_its_full_names_work(self) -> None:
        reply = self.gateway.call("both")
        self.assertEqual(reply.code, "AMBIGUOUS_TOOL")
        self.assertNotIn("both", self.gateway.tools())
        before = len(self.two.calls)
        self.assertEqual(self.gateway.call("two__both", {"n": 1}).result, {"n": 1})
        self.assertEqual(len(self.two.calls), before + 1)

    def test_errors_keep_their_code_and_are_not_repeated(self) -> None:
        for code in (
            "INVALID_ARGS",
            "FORBIDDEN",
            "RATE_LIMITED",
            "DEPENDENCY_UNAVAILABLE",
            "INTERNAL",
            "CONFLICT",
        ):
            self.behave(lambda request, code=code: request.fail(code))
            name = self.unique("error")
            self.assertEqual(self.gateway.call("read", call_id=name).code, code)
            self.assertEqual(len(self.one.calls_of(name)), 1, code)

    def test_a_retryable_error_is_repeated_twice_under_the_same_id_and_key(self) -> None:
        self.behave(lambda request: request.fail("RATE_LIMITED", "retryable_error"))
        name = self.unique("busy")
        reply = self.gateway.call("write", call_id=name)
        self.assertEqual((reply.status, reply.code), ("retryable_error", "RATE_LIMITED"))
        self.assertEqual(
            [call.body["idempotency_key"] for call in self.one.calls_of(name)], [name] * 3
        )

    def test_a_host_that_times_out_is_told_on_and_not_asked_again(self) -> None:
        self.behave(lambda request: request.fail("TIMEOUT", "timeout"))
        name = self.unique("timeout")
        self.assertEqual(self.gateway.call("read", call_id=name).status, "timeout")
        self.assertEqual(len(self.one.calls_of(name)), 1)

    def test_a_cancelled_call_is_cancelled_at_the_host(self) -> None:
        self.behave(lambda request: None)
        name = self.unique("cancelled")
        call = self.gateway.start_call("read", call_id=name)
        eventually(lambda: self.one.calls_of(name), "the call is there")
        self.gateway.cancel(name)
        self.assertEqual(call.result(5).code, "CANCELLED")
        self.assertEqual(
            self.one.wait_cancel(),
            {"version": "v1", "tenant_id": "default", "call_id": name, "reason": "cancelled"},
        )

    def test_many_calls_at_once_share_few_connections(self) -> None:
        calls = [self.gateway.start_call("read", {"n": n}) for n in range(100)]
        self.assertEqual([call.result(15).result["n"] for call in calls], list(range(100)))
        self.assertLessEqual(len(self.one._links), 64 + 8)


class CallersApartTest(ToolHostCase):
    """`Crab-Principal`: docs/protocols/rtp.md, section 3, "Idempotency"."""

    def principals_of(self, host: ToolHost, tool: str, caller: str) -> list[str | None]:
        call_id = self.unique("whose")
        self.gateway.call(tool, call_id=call_id, caller=caller)
        return [call.headers.get("crab-principal") for call in host.calls_of(call_id)]

    def test_a_host_that_did_not_ask_is_not_told_whose_a_call_is(self) -> None:
        self.assertEqual(self.principals_of(self.one, "write", "ann"), [None])
        self.behave(lambda request: None)
        call = self.gateway.start_call("read", call_id="nobodys")
        eventually(lambda: self.one.calls_of("nobodys"), "the host has it")
        self.gateway.cancel("nobodys")
        call.result(10)
        self.one.wait_cancel()
        self.assertNotIn("crab-principal", self.one.cancel_headers[-1])

    def test_one_that_keeps_callers_apart_is_told_by_a_digest_the_same_each_time(self) -> None:
        apart = ToolHost(self.folder / "late", host_tool("own", side_effects=True, idempotent=True))
        apart.says = {"keeps_callers_apart": True}
        apart.start()
        self.addCleanup(apart.stop)
        self.gateway.wait_listed("own")
        ann = hashlib.sha256(b"caller/ann").hexdigest()[:32]
        self.assertEqual(self.principals_of(apart, "own", "ann"), [ann])
        apart.behave = lambda request: request.fail("RATE_LIMITED", "retryable_error")
        self.assertEqual(self.principals_of(apart, "own", "ann"), [ann] * 3)
        apart.behave = lambda request: request.answer()
        self.assertNotEqual(self.principals_of(apart, "own", "bob"), [ann])
        apart.behave = lambda request: None
        call = self.gateway.start_call("own", call_id="anns", caller="ann")
        eventually(lambda: apart.calls_of("anns"), "the host has it")
        self.gateway.cancel("anns", caller="ann")
        call.result(10)
        apart.wait_cancel()
        self.assertEqual(apart.cancel_headers[-1]["crab-principal"], ann)


class DiscoveryTest(ToolHostCase):
    def test_a_host_that_comes_up_later_appears_and_one_that_goes_does_not_take_the_list_along(
        self,
    ) -> None:
        late = ToolHost(self.folder / "late", host_tool("late.tool")).start()
        eventually(
            lambda: "late.tool" in self.gateway.tools(), "the late host's tool is listed", limit=20
        )
        self.assertEqual(self.gateway.call("late.tool", {"n": 1}).result, {"n": 1})
        late.stop()
        reply = self.gateway.call("late.tool")
        self.assertEqual(reply.code, "DEPENDENCY_UNAVAILABLE")
        self.assertIn("late.tool", self.gateway.tools())
        self.assertEqual(self.gateway.call("read", {"n": 2}).result, {"n": 2})

    def test_an_unknown_tool_has_the_list_fetched_again(self) -> None:
        self.two.tools = [host_tool("both"), host_tool("newer")]
        self.two.behave = (
            lambda request: request.fail("TOOL_NOT_FOUND")
            if request.body["tool_name"] == "other"
            else request.answer()
        )
        self.assertEqual(self.gateway.call("other").code, "TOOL_NOT_FOUND")
        self.gateway.wait_listed("newer")
        self.gateway.wait_gone("other")
        self.assertEqual(self.gateway.call("newer", {"n": 1}).result, {"n": 1})

    def test_reserved_names_are_not_taken(self) -> None:
        path = self.folder / "greedy"
        host = ToolHost(path, host_tool("list_devices"), host_tool("modest")).start()
        self.addCleanup(host.stop)
        with Gateway({"hosts": [{"name": "greedy", "unix": str(path)}]}) as gateway:
            gateway.wait_listed("modest")
            self.assertIn("devices", gateway.call("list_devices").result)
            self.assertEqual(gateway.call("greedy__list_devices", {"n": 1}).result, {"n": 1})
            self.assertIn("greedy__list_devices", gateway.tools())


class ChainTest(unittest.TestCase):
    """A gateway's admin socket is a tool host: one gateway calls the devices of another."""

    def test_a_device_of_the_far_gateway_is_called_through_the_near_one(self) -> None:
        far = self.enterContext(Gateway())
        device = Device(far, far.pair("lamp"))
        self.addCleanup(device.drop)
        device.register(tool("light.on"))
        device.serve({"light.on": lambda args: args})
        far.wait_listed("light.on")
        near = self.enterContext(Gateway({"hosts": [{"name": "far", "unix": str(far.admin)}]}))
        near.wait_listed("light.on")
        self.assertEqual(near.call("light.on", {"room": "kitchen"}).result, {"room": "kitchen"})
        self.assertEqual(near.call("far__light.on", {"room": "hall"}).result, {"room": "hall"})
        device.drop()
        far.wait_gone("light.on")
        self.assertEqual(near.call("light.on").code, "TOOL_NOT_FOUND")
        near.wait_gone("light.on")
