"""SIGTERM and SIGHUP under load (docs/protocols/clawseed.md, section 7; checklist 33, 49)."""

from __future__ import annotations

import signal
import unittest

from support.case import GatewayCase
from support.device import Device, tool
from support.gateway import Gateway
from support.stream import EndOfStream
from support.wait import Stopwatch, eventually


class StopTest(unittest.TestCase):
    """Each test has a gateway of its own and stops it."""

    def setUp(self) -> None:
        self.gateway = self.enterContext(Gateway({"devices": {"grace_ms": 500}}))

    def run(self, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
        before = len(result.failures) + len(result.errors) if result else 0
        outcome = super().run(result)
        if (
            result
            and len(result.failures) + len(result.errors) > before
            and hasattr(self, "gateway")
        ):
            print(self.gateway.log_tail())
        return outcome

    def device(self, name: str) -> Device:
        device = Device(self.gateway, self.gateway.pair("phone"))
        self.addCleanup(device.drop)
        device.register(tool(name))
        return device

    def test_clawseed_49_a_stop_closes_devices_with_1001(self) -> None:
        devices = [self.device(f"t{n}") for n in range(5)]
        watch = Stopwatch()
        self.gateway.process.send_signal(signal.SIGTERM)
        for device in devices:
            self.assertEqual(device.socket.wait_closed(timeout=15).code, 1001)
        self.gateway.wait_stopped()
        self.assertLess(watch.seconds, 5)  # nothing was running

    def test_clawseed_49_after_a_restart_a_device_finds_its_chat_session_again(self) -> None:
        token = self.gateway.pair("phone")
        device = Device(self.gateway, token, session_id="kitchen")
        for number in (signal.SIGINT, signal.SIGTERM):
            device.register(tool("t"))
            self.gateway.process.send_signal(number)
            self.assertIn(
                device.socket.wait_closed(timeout=15).code, (1001, 1012)
            )  # it goes on with neither 1000 nor silence
            self.gateway.wait_stopped()
            self.gateway.start()
            device = Device(self.gateway, token, session_id="kitchen")
            self.addCleanup(device.drop)
        device.register(tool("t"))
        self.gateway.wait_listed("t")

    def test_a_call_that_runs_at_the_stop_may_finish(self) -> None:
        device = self.device("t")
        call = self.gateway.start_call("t", timeout_ms=10_000, timeout=20.0)
        request = device.next_call("t")
        self.gateway.process.send_signal(signal.SIGTERM)
        eventually(self.is_stopping, "new connections are refused")
        device.send("tool_result", id=request["id"], output="just in time")
        self.assertEqual(call.result(15).result, {"text": "just in time"})
        self.assertEqual(device.socket.wait_closed(timeout=15).code, 1001)
        self.gateway.wait_stopped()

    def is_stopping(self) -> bool:
        try:
            return self.gateway.fetch("GET", "/health").status == 503
        except (OSError, EndOfStream):
            return True

    def test_clawseed_33_a_call_nobody_answers_does_not_hold_up_the_stop_and_ends_as_unknown(
        self,
    ) -> None:
        device = self.device("t")
        call = self.gateway.start_call("t", timeout_ms=60_000, timeout=30.0)
        device.next_call("t")
        watch = Stopwatch()
        self.gateway.process.send_signal(signal.SIGTERM)
        self.assertEqual(
            device.socket.wait_closed(timeout=18).code, 1001
        )  # it answers with 1001, as real clients do
        try:
            self.assertIn(
                call.result(20).code, ("OUTCOME_UNKNOWN", "CANCELLED", "DEPENDENCY_UNAVAILABLE")
            )
        except EndOfStream:
            pass  # the connection ended with the process
        self.gateway.wait_stopped()
        self.assertLess(watch.seconds, 16)

    def test_a_device_that_does_not_answer_the_close_does_not_hold_up_the_stop(self) -> None:
        device = self.device("t")
        device.socket.quiet = True
        watch = Stopwatch()
        self.gateway.stop()
        self.assertLess(watch.seconds, 16)


class ReloadTest(GatewayCase):
    def test_a_reload_keeps_connections_and_calls_and_takes_the_new_rules(self) -> None:
        name = self.unique("door")
        device = self.open()
        device.register(tool(name))
        running = self.gateway.start_call(name)
        request = device.next_call(name)
        self.gateway.reload(
            {
                "hooks": [
                    {"name": "closed", "type": "deny", "tools": ["door-*"], "reason": "closed now"}
                ]
            }
        )
        eventually(lambda: self.refused(name), "the new hook denies")
        # Calls that went out before the new rules held may stand before the acknowledgement.
        device.send("tool_result", id=request["id"], output="the old call finishes", success=True)
        self.assertEqual(running.result(10).result, {"text": "the old call finishes"})
        self.assertIsNone(device.socket.closed)
        self.gateway.reload({"hooks": []})

    def refused(self, name: str) -> bool:
        reply = self.gateway.call(name, timeout_ms=100)
        return reply.code == "FORBIDDEN"

    def test_a_broken_configuration_leaves_the_old_one_in_force(self) -> None:
        name = self.unique("tool")
        device = self.open()
        device.register(tool(name))
        good = dict(self.gateway.config)
        self.gateway.reload({"surprise": 1})
        eventually(lambda: "surprise" in self.gateway.log_tail(), "the problem is logged")
        call = self.gateway.start_call(name)
        device.answer(device.next_call(name), "still serving")
        self.assertEqual(call.result(10).result, {"text": "still serving"})
        self.gateway.write_config(good)
