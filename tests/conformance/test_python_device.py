"""The Python package as a device at a real gateway (docs/protocols/clawseed.md, sections 3, 4, 9
and 10)."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import json
import socket
import tempfile
import threading
import time
import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from crab import Blob, PairingError, ToolCall, ToolError, pair, pair_key
from support.case import GatewayCase
from support.python_device import PythonDevice
from support.relay import Relay
from support.wait import Stopwatch, eventually


class Unit(enum.Enum):
    CELSIUS = "c"
    KELVIN = "k"


@dataclass
class Reading:
    """A value with its unit.

    Args:
        degrees: how warm it is
    """

    degrees: float
    unit: Unit = Unit.CELSIUS


class DeviceCase(GatewayCase):
    def python(self, token: str | None = None, **options: Any) -> PythonDevice:
        """Not started yet: tools are added first."""
        address = options.pop("address", f"http://127.0.0.1:{self.gateway.public[1]}")
        device = PythonDevice(address, "py", token or self.new_token("py"), **options)
        self.addCleanup(device.close)
        return device

    def started(self, *functions: Any, **options: Any) -> PythonDevice:
        device = self.python(**options)
        for function in functions:
            device.device.tool(function)
        device.start().wait("connected")
        return device

    def call(self, name: str, args: Any = None, agent: str = "tests", **members: Any) -> Any:
        return self.gateway.call(
            f"{self.slug}__{name}", args, context={"agent_id": agent, "session_id": "s"}, **members
        )

    def call_later(self, name: str, args: Any = None, **members: Any) -> Any:
        return self.gateway.start_call(f"{self.slug}__{name}", args, **members)


class Tools(DeviceCase):
    def test_a_call_has_the_traceparent_of_its_caller(self) -> None:
        def trace(call: ToolCall) -> str:
            """The span that asks for it."""
            return call.traceparent

        self.started(trace)
        parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        for fields, handed in (({"traceparent": parent}, parent), ({"traceparent": "00-1"}, "")):
            self.assertEqual(self.call("trace", headers=fields).result, {"text": handed})

    def test_schemas_come_from_hints_and_values_arrive_as_their_types(self) -> None:
        def convert(reading: Reading, to: Unit, digits: Literal[0, 1] = 1) -> Reading:
            """Converts a reading.

            Args:
                to: the unit to convert to
            """
            assert isinstance(reading, Reading) and isinstance(to, Unit)
            shift = 273.15 * ((to is Unit.KELVIN) - (reading.unit is Unit.KELVIN))
            return Reading(round(reading.degrees + shift, digits), to)

        self.started(convert)
        listed = self.gateway.tools()["convert"]
        self.assertEqual(listed["description"], "Converts a reading.")
        schema = listed["input_schema"]
        self.assertEqual(schema["required"], ["reading", "to"])
        self.assertEqual(schema["properties"]["to"]["description"], "the unit to convert to")
        self.assertIn("Reading", schema["$defs"])
        self.assertEqual(
            self.call("convert", {"reading": {"degrees": 20}, "to": "k"}).result,
            {"degrees": 293.1, "unit": "k"},
        )
        for args, pointer in (
            ({"reading": {"degrees": "warm"}, "to": "k"}, "/reading/degrees"),
            ({"reading": {"degrees": 1}, "to": "f"}, "/to"),
            ({"reading": {"degrees": 1}, "to": "k", "more": 1}, "/more"),
        ):
            failure = self.call("convert", args)
            self.assertEqual(failure.code, "INVALID_ARGS")
            self.assertIn(pointer, failure.error["message"])

    def test_text_of_every_script_and_json_come_back_as_they_are(self) -> None:
        def echo(text: str) -> str:
            """Says it again."""
            return text

        async def whole(value: Any) -> Any:
            """Gives it back."""
            return value

        self.started(echo, whole)
        text = "grüß — 🦀\u2028\x00\x7f" * 9_000
        self.assertEqual(self.call("echo", {"text": text}).result["text"], text)
        value = {"a": [1, None, {"b": 1.5}], "ключ": "значение", "": ""}
        self.assertEqual(self.call("whole", {"value": value}).result, value)
        self.assertEqual(self.call("whole", {"value": [1, 2]}).result, {"value": [1, 2]})
        self.assertEqual(self.call("whole", {"value": None}).result, {"text": ""})

    def test_results_that_are_no_json_are_failures_and_the_link_stays(self) -> None:
        wrong = {"nan": float("nan"), "half": "\ud800", "object": object(), "bytes": b"raw"}

        def give(what: str) -> Any:
            """Returns what has no form in JSON."""
            if what == "loop":
                loop: list[Any] = []
                loop.append(loop)
                return loop
            return wrong[what]

        device = self.started(give)
        for what in (*wrong, "loop"):
            failure = self.call("give", {"what": what})
            self.assertEqual(failure.code, "INTERNAL", what)
            self.assertIn("is not JSON", failure.error["message"])
        self.assertEqual(device.seen("lost"), [])

    def test_large_results_and_bytes_are_uploaded(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "film").write_bytes(bytes(range(256)) * 12_000)

        def much(kind: str) -> Any:
            """Much of it."""
            return {
                "text": "grüß — 🦀" * 20_000,
                "json": {"list": ["x" * 100] * 5_000},
                "bytes": Blob(b"\xff\xd8" * 1_500_000, "image/jpeg"),
                "none": Blob(b"", "image/jpeg"),
                "file": Blob(folder / "film", "video/mp4"),
                "missing": Blob(folder / "gone"),
            }[kind]

        self.started(much)
        for kind, content_type, size in (
            ("text", "text/plain;charset=utf-8", len(("grüß — 🦀" * 20_000).encode())),
            ("json", "application/json", 515_010),
            ("bytes", "image/jpeg", 3_000_000),
            ("none", "image/jpeg", 0),
            ("file", "video/mp4", 256 * 12_000),
        ):
            artifact = self.call("much", {"kind": kind}).result["artifact"]
            self.assertEqual(artifact["content_type"], content_type)
            body = self.gateway.fetch("GET", artifact["href"], self.gateway.caller_token()).body
            self.assertEqual((len(body), artifact["bytes"]), (artifact["bytes"], len(body)))
            self.assertAlmostEqual(len(body), size, delta=20)
        self.assertEqual(self.call("much", {"kind": "missing"}).code, "INTERNAL")

    def test_failures_keep_their_codes_and_foreign_ones_stay_in_the_log(self) -> None:
        def fail(how: str) -> None:
            """Fails."""
            if how == "asleep":
                raise ToolError("UNAVAILABLE", "the sensor is asleep — wake it")
            if how == "exit":
                raise SystemExit(3)
            raise RuntimeError("password=hunter2")

        self.started(fail)
        failure = self.call("fail", {"how": "asleep"}).error
        self.assertEqual(
            (failure["code"], failure["message"]),
            ("DEPENDENCY_UNAVAILABLE", "UNAVAILABLE: the sensor is asleep — wake it"),
        )
        with self.assertLogs("crab", "ERROR") as logged:
            for how in ("exit", "other"):
                failure = self.call("fail", {"how": how}).error
                self.assertEqual(failure["code"], "INTERNAL")
                self.assertNotIn("hunter2", failure["message"])
        self.assertIn("hunter2", "\n".join(logged.output))

    def test_it_is_told_who_asks(self) -> None:
        def who(call: ToolCall) -> dict[str, str]:
            """Who asks?"""
            return {"principal": call.caller.principal, "agent": call.caller.agent}

        self.started(who)
        self.assertEqual(
            self.call("who", agent="planner").result,
            {"principal": "caller/tester", "agent": "planner"},
        )

    def test_tools_come_and_go_while_it_runs(self) -> None:
        def first() -> str:
            """The first."""
            return "1"

        def second() -> str:
            """The second."""
            return "2"

        device = self.started(first)
        device.device.tool(second)
        device.device.remove_tool("first")
        self.gateway.wait_listed("second")
        self.gateway.wait_gone("first")
        self.assertEqual(self.call("second").result["text"], "2")

    def test_rejected_tools_are_reported(self) -> None:
        device = self.python()

        @device.device.tool(schema={"type": "string"})
        def odd() -> str:
            """Its schema accepts no object."""
            return ""

        @device.device.tool(name="fine")
        def other() -> str:
            """Fine."""
            return ""

        said = device.start().wait("connected")
        self.assertEqual((said.tools, [it["name"] for it in said.rejected]), (1, ["odd"]))
        self.assertIn("odd", device.wait("notice").message)

    def test_the_admin_socket_needs_no_token(self) -> None:
        self.slug = "py"
        device = PythonDevice(f"unix:{self.gateway.admin}", "py", None)
        self.addCleanup(device.close)

        @device.device.tool(read_only=True)
        def local_fact() -> int:
            """A fact of this machine."""
            return 7

        device.start().wait("connected")
        self.gateway.wait_listed("local_fact")
        self.assertEqual(self.gateway.call("local_fact").result, {"value": 7})
        self.assertFalse(self.gateway.tools()["local_fact"]["side_effects"])


class Time(DeviceCase):
    def test_a_timeout_and_a_cancel_reach_functions_of_both_kinds(self) -> None:
        stopped: list[str] = []
        running = threading.Semaphore(0)

        def on_a_thread(call: ToolCall) -> None:
            """Waits until it is stopped."""
            running.release()
            if call.wait(30):
                stopped.append("thread")
                call.check()

        async def on_the_loop() -> None:
            """Waits until it is stopped."""
            running.release()
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                stopped.append("loop")
                raise

        self.started(on_a_thread, on_the_loop)
        for number, (name, kind) in enumerate((("on_a_thread", "thread"), ("on_the_loop", "loop"))):
            stopped.clear()
            self.assertEqual(self.call(name, timeout_ms=300).status, "timeout")
            eventually(lambda: stopped == [kind], "the function was stopped")
            self.assertTrue(running.acquire(timeout=5))
            call = self.call_later(name, call_id=f"cancel-{number}")
            self.assertTrue(running.acquire(timeout=5))
            self.gateway.cancel(f"cancel-{number}")
            self.assertEqual(call.result(10).code, "CANCELLED")
            eventually(lambda: stopped == [kind, kind], "the function was stopped again")

    def test_cancels_that_race_with_ends_leave_nothing_behind(self) -> None:
        async def soon(seconds: float) -> str:
            """Ends soon."""
            await asyncio.sleep(seconds)
            return "done"

        device = self.started(soon, parallel=16)
        calls = []
        for number in range(60):
            calls.append(
                self.call_later("soon", {"seconds": 0.001 * (number % 7)}, call_id=f"race-{number}")
            )
            self.gateway.cancel(f"race-{number}")
        for call in calls:
            answer = call.result(15)
            self.assertIn(answer.body.get("error", {}).get("code", "ok"), ("ok", "CANCELLED"))
        eventually(lambda: not device.device._calls, "no call is left")
        eventually(lambda: not device.device._outbox.sent_before(float("inf")), "all acknowledged")
        self.assertEqual(self.call("soon", {"seconds": 0}).result["text"], "done")

    def test_functions_that_block_run_side_by_side_and_further_calls_wait(self) -> None:
        gate, inside = threading.Event(), []

        def block(number: int) -> int:
            """Blocks."""
            inside.append(number)
            gate.wait(20)
            return number

        async def quick() -> str:
            """Ends at once."""
            return "quick"

        self.started(block, quick, parallel=3, queued=2)
        calls = [self.call_later("block", {"number": n}) for n in range(5)]
        eventually(lambda: len(inside) == 3, "three run")
        eventually(
            lambda: self.gateway.call(f"{self.slug}__quick", timeout_ms=200)
            .body.get("error", {})
            .get("code")
            == "RATE_LIMITED",
            "with three that run and two that wait there is no place",
        )
        self.assertEqual(len(inside), 3)
        gate.set()
        self.assertEqual(sorted(call.result(10).result["value"] for call in calls), [0, 1, 2, 3, 4])

    def test_a_function_that_ignores_its_end_keeps_its_place_and_harms_nobody(self) -> None:
        gate = threading.Event()
        self.addCleanup(gate.set)

        def deaf() -> None:
            """Does not look."""
            gate.wait(30)

        def fine() -> str:
            """Fine."""
            return "fine"

        self.started(deaf, fine, parallel=2)
        self.assertEqual(self.call("deaf", timeout_ms=200).status, "timeout")
        self.assertEqual(self.call("fine").result["text"], "fine")

    def test_progress_comes_from_any_thread_and_is_thinned_out(self) -> None:
        def slow(call: ToolCall) -> str:
            """Says how far it is."""
            for step in range(2_000):
                call.progress(f"step {step}", step, 2_000)
            call.wait(0.15)
            call.progress("last", 2_000, 2_000)
            return "done"

        relay = Relay(self.gateway.public)
        self.addCleanup(relay.close)
        self.started(slow, address=f"http://127.0.0.1:{relay.address[1]}")
        self.assertEqual(self.call("slow").result["text"], "done")
        frames = relay.connections[-1].sent_of("tool_call_progress")
        self.assertLess(len(frames), 10)
        self.assertEqual(frames[-1]["message"], "last")

    def test_a_function_that_blocks_the_loop_is_named_in_the_log_and_its_answer_counts(
        self,
    ) -> None:
        async def rude() -> str:
            """Sleeps without `await`."""
            time.sleep(3)
            return "sorry"

        self.started(rude)
        with self.assertLogs("crab", "WARNING") as logged:
            self.assertEqual(self.call("rude").result["text"], "sorry")
            eventually(lambda: any("blocked" in line for line in logged.output), "a warning")


class Links(DeviceCase):
    def relayed(self, *functions: Any) -> tuple[Relay, PythonDevice]:
        relay = Relay(self.gateway.public)
        self.addCleanup(relay.close)
        return relay, self.started(*functions, address=f"http://127.0.0.1:{relay.address[1]}")

    def test_a_call_goes_on_over_a_broken_link_and_runs_once(self) -> None:
        runs, gate = [], threading.Event()

        def work() -> str:
            """Works."""
            runs.append(1)
            gate.wait(20)
            return "worked"

        relay, device = self.relayed(work)
        call = self.call_later("work", timeout_ms=30_000)
        eventually(lambda: runs, "it runs")
        relay.break_down()
        device.wait("lost")
        gate.set()
        relay.mend()
        self.assertEqual(call.result(20).result["text"], "worked")
        self.assertEqual(len(runs), 1)

    def test_malformed_frames_of_a_gateway_do_no_harm(self) -> None:
        def fine() -> str:
            """Fine."""
            return "fine"

        device = self.started(fine).device
        loop = device._loop
        assert loop
        for text in (
            '{"type":"tool_call_request"}',
            '{"type":"tool_call_request","id":7,"name":{},"args":[]}',
            '{"type":"tool_call_request","id":"x","name":null,"args":null,"deadline_ms":"soon"}',
            '{"type":"tool_call_cancel","id":["x"]}',
            '{"type":"connected","capabilities":7,"artifacts":[],"grace_ms":-1}',
            '{"type":"tools_registered","rejected":[7,{}],"registered":{}}',
            '{"type":["x"]}',
            "{}",
        ):
            loop.call_soon_threadsafe(device._on_frame, json.loads(text))
        self.assertEqual(self.call("fine").result["text"], "fine")

    def test_a_revoked_token_ends_it(self) -> None:
        device = self.started()
        self.gateway.crab("devices", "revoke", self.slug)
        device.wait("ended")
        eventually(lambda: device.end, "it ended")
        self.assertEqual(device.end.reason, "refused")

    def test_a_token_that_was_never_good_ends_it_and_is_not_shown(self) -> None:
        device = self.python(token="0" * 64)
        device.start().wait("ended")
        eventually(lambda: device.end, "it ended")
        self.assertEqual(device.end.reason, "refused")
        self.assertNotIn("0" * 64, repr(vars(device.device)) + device.end.message)

    def test_a_token_file_that_has_changed_is_read_again(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "token").write_text("0" * 64 + "\n")
        good = self.new_token("py")
        address = f"http://127.0.0.1:{self.gateway.public[1]}"
        device = PythonDevice(address, "py", None, token_file=folder / "token")
        self.addCleanup(device.close)
        (folder / "token").write_text(good)
        device.start().wait("connected")

    def test_a_stop_while_it_waits_for_a_gateway_is_quick(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as nobody:
            port = nobody.getsockname()[1]
        device = self.python(address=f"http://127.0.0.1:{port}")
        device.start().wait("lost")
        watch = Stopwatch()
        device.close()
        self.assertLess(watch.seconds, 2)
        self.assertEqual(device.end.reason, "stopped")


class Restart(DeviceCase):
    def test_it_comes_back_to_a_gateway_that_was_killed_in_the_middle_of_a_call(self) -> None:
        gate, runs = threading.Event(), []
        self.addCleanup(gate.set)

        def work() -> str:
            """Works."""
            runs.append(1)
            gate.wait(20)
            return "worked"

        device = self.python()
        device.device.tool(work)
        self.gateway.config["listen"]["public"] = f"127.0.0.1:{self.gateway.public[1]}"
        device.start().wait("connected")
        call = self.call_later("work")
        eventually(lambda: runs, "it runs")
        self.gateway.kill()
        with contextlib.suppress(Exception):
            call.result(10)
        device.wait("lost")
        gate.set()
        self.gateway.start()
        device.wait("connected", 2)
        self.assertEqual(self.call("work").result["text"], "worked")


class Pairing(DeviceCase):
    def test_a_code_becomes_a_token_in_a_file_for_its_owner_alone(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        address = f"http://127.0.0.1:{self.gateway.public[1]}"
        answer = self.gateway.admin_request("POST", "/v1/admin/devices/pair", {"name": "coded"})
        code = answer.json()["code"]
        with self.assertRaises(PairingError) as wrong:
            pair(address, "0000-0000-0000")
        self.assertEqual(wrong.exception.reason, "wrong")
        token = pair(address, f"https://x/device/#pair={code}", token_file=folder / "token")
        self.assertEqual((folder / "token").read_text(), token)
        self.assertEqual((folder / "token").stat().st_mode & 0o777, 0o600)
        self.slug = "coded"
        self.started(token=token)
        with self.assertRaises(PairingError) as again:
            pair(address, code)
        self.assertEqual(again.exception.reason, "none_open")

    def test_a_key_takes_the_place_of_a_token_until_it_is_revoked(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        address, name = f"http://127.0.0.1:{self.gateway.public[1]}", self.unique("keyed")
        paired = self.gateway.admin_request("POST", "/v1/admin/devices/pair", {"name": name})
        pair_key(address, paired.json()["code"], key_file=folder / "key")
        device = PythonDevice(address, name, None, key_file=folder / "key")
        self.addCleanup(device.close)

        @device.device.tool
        def large() -> str:
            """Is uploaded, with the token of the key."""
            return "x" * 400_000

        device.start().wait("connected")
        result = self.gateway.call(f"{name}__large").result
        self.assertEqual(result["artifact"]["bytes"], 400_000)
        self.gateway.stop()
        self.gateway.start()  # which forgets tokens of keys; the port may be another one
        again = f"http://127.0.0.1:{self.gateway.public[1]}"
        second = PythonDevice(again, name, None, key_file=folder / "key")
        self.addCleanup(second.close)
        second.start().wait("connected")
        self.gateway.crab("devices", "revoke", name)
        second.wait("ended")
        eventually(lambda: second.end, "it ended")
        self.assertEqual(second.end.reason, "refused")


if __name__ == "__main__":
    unittest.main()
