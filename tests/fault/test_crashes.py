"""kill -9 and resets in mid-call, of devices, callers and the gateway itself."""

from __future__ import annotations

import signal
import subprocess
import sys
import unittest
import uuid

from support.case import GatewayCase
from support.device import Device, tool
from support.http import HttpConnection
from support.rtp import call_request
from support.stream import EndOfStream
from support.wait import Stopwatch, eventually

GRACE = 0.5
NO_DURABLE_LEDGER = "the ledger lives in memory until paired hosts bring the durable one (docs/rough_edges.md)"
#: A device in a process of its own: registers, gets one call, says so, and hangs.
VICTIM = """
import sys, pathlib
from support.device import Device, tool

class Address: public = (sys.argv[1], int(sys.argv[2]))
device = Device(Address, sys.argv[3], session_id=sys.argv[5])
device.register(tool(sys.argv[4]))
print("registered", flush=True)
print(device.next_call(timeout=60)["id"], flush=True)
device.receive(timeout=60)
"""


class DeviceCrashTest(GatewayCase):
    CONFIG = {"devices": {"grace_ms": int(GRACE * 1000)}}

    def victim(self, token: str, name: str, session_id: str) -> subprocess.Popen[str]:
        """A device process that has registered."""
        host, port = self.gateway.public
        process = subprocess.Popen([sys.executable, "-c", VICTIM, host, str(port), token, name, session_id], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "registered\n")
        return process

    def test_kill_9_of_a_device_in_mid_call_is_an_unknown_outcome_after_the_grace_time(self) -> None:
        name = self.unique("tool")
        process = self.victim(self.new_token(), name, str(uuid.uuid4()))
        call = self.gateway.start_call(name)
        process.stdout.readline()
        process.kill()
        watch = Stopwatch()
        reply = call.result(10)
        self.assertEqual((reply.status, reply.code), ("error", "OUTCOME_UNKNOWN"))
        self.assertGreaterEqual(watch.seconds, GRACE - 0.1)
        self.assertLess(watch.seconds, GRACE + 2)
        self.gateway.wait_gone(name)

    def test_a_device_that_is_restarted_within_the_grace_time_still_delivers(self) -> None:
        name, token, session = self.unique("tool"), self.new_token(), str(uuid.uuid4())
        process = self.victim(token, name, session)
        call = self.gateway.start_call(name)
        wire_id = process.stdout.readline().strip()
        process.kill()
        self.open(token, session_id=session).answer({"id": wire_id}, "from the next life")
        self.assertEqual(call.result(10).result, {"text": "from the next life"})

    def test_a_frozen_device_process_answers_after_it_is_thawed(self) -> None:
        name = self.unique("tool")
        process = self.victim(self.new_token(), name, str(uuid.uuid4()))
        process.send_signal(signal.SIGSTOP)
        reply = self.gateway.call(name, timeout_ms=300)
        self.assertEqual(reply.status, "timeout")
        process.send_signal(signal.SIGCONT)
        self.assertTrue(process.stdout.readline().strip())  # it got the call after all, and the link had stayed

    def test_an_idempotent_tool_whose_device_dies_is_asked_again_on_its_next_connection_or_fails(self) -> None:
        name, token = self.unique("tool"), self.new_token()
        device = self.open(token)
        device.register(tool(name, annotations={"idempotent": True, "read_only": True}))
        call = self.gateway.start_call(name, timeout_ms=3000)
        device.next_call(name)
        device.cut()
        self.assertIn(call.result(10).code, ("OUTCOME_UNKNOWN", "DEPENDENCY_UNAVAILABLE", "TOOL_NOT_FOUND", "TIMEOUT"))

    def test_callers_that_are_reset_in_mid_call_leave_no_descriptor_behind(self) -> None:
        name = self.unique("tool")
        device = self.open()
        device.register(tool(name))
        self.gateway.tools()
        before = self.gateway.open_files()
        requests = []
        for _ in range(20):
            connection = HttpConnection(self.gateway.public)
            connection.send("POST", "/v1/tools/call", {"Authorization": f"Bearer {self.gateway.caller_token()}"}, call_request(name, timeout_ms=500))
            requests.append(device.next_call(name))
            connection.stream.reset()
        for request in requests[:10]:
            device.answer(request, "nobody is there")
        eventually(lambda: self.gateway.open_files() <= before, f"at most {before} descriptors are open")
        device.assert_silent()


class GatewayCrashTest(GatewayCase):
    CONFIG = {"tools": [{"match": "*", "side_effects": True}]}  # so that the ledger has to be durable

    def test_after_kill_9_it_starts_again_and_devices_and_tokens_are_as_they_were(self) -> None:
        token, name = self.new_token(), self.unique("tool")
        device = self.open(token)
        device.register(tool(name))
        call = self.gateway.start_call(name)
        device.next_call(name)
        self.gateway.kill()
        self.assertIsInstance(call.exception(10), EndOfStream)
        self.assertEqual(device.socket.wait_closed().code, 1006)
        self.gateway.start()
        self.assertNotIn(name, self.gateway.tools())
        back = self.open(token, session_id=device.session_id)
        self.assertEqual(back.register(tool(name))["registered"], 1)

    @unittest.skip(NO_DURABLE_LEDGER)
    def test_a_call_that_was_out_when_it_was_killed_is_unknown_when_it_is_repeated(self) -> None:
        token, name = self.new_token(), self.unique("tool")
        device = self.open(token)
        device.register(tool(name))
        self.gateway.start_call(name, {"a": 1}, idempotency_key="key-" + name)
        device.next_call(name)
        self.gateway.kill()
        self.gateway.start()
        back: Device = self.open(token)
        back.register(tool(name))
        repeat = self.gateway.start_call(name, {"a": 1}, idempotency_key="key-" + name, timeout_ms=1000)
        self.assertEqual(repeat.result(10).code, "OUTCOME_UNKNOWN")
        back.assert_silent()

    @unittest.skip(NO_DURABLE_LEDGER)
    def test_a_call_that_was_finished_before_it_was_killed_is_replayed(self) -> None:
        token, name = self.new_token(), self.unique("tool")
        device = self.open(token)
        device.register(tool(name))
        call = self.gateway.start_call(name, {"a": 1}, idempotency_key="done-" + name)
        device.answer(device.next_call(name), "once")
        call.result(10)
        self.gateway.kill()
        self.gateway.start()
        back = self.open(token)
        back.register(tool(name))
        reply = self.gateway.call(name, {"a": 1}, idempotency_key="done-" + name, timeout_ms=1000)
        self.assertEqual(reply.result, {"text": "once"})
        self.assertEqual(reply.http.headers["crab-replayed"], "true")
        back.assert_silent()
        self.assertIsNone(back.socket.closed)
