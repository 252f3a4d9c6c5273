"""Calls that wait for a device that is away: `Crab-Away-Wait-Ms`, docs/protocols/clawseed.md,
section 9."""

from __future__ import annotations

import signal
import subprocess
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from support import rtp
from support.case import GatewayCase
from support.device import Device, tool
from support.gateway import program
from support.wait import Stopwatch, eventually

READS = {"annotations": {"read_only": True}}


class AwayTest(GatewayCase):
    def setUp(self) -> None:
        self.pool = ThreadPoolExecutor(8)
        self.addCleanup(self.pool.shutdown)

    def call(self, name: str, wait_ms: int | str, **members: Any) -> dict[str, Any]:
        answer = self.gateway.fetch(
            "POST",
            "/v1/tools/call",
            self.gateway.caller_token(),
            {"Crab-Away-Wait-Ms": str(wait_ms)},
            rtp.call_request(name, None, **members),
            timeout=30,
        )
        return answer.json()

    def start(self, name: str, wait_ms: int = 20_000, **members: Any) -> Future[dict[str, Any]]:
        return self.pool.submit(self.call, name, wait_ms, **members)

    def left(self, **claims: Any) -> tuple[str, str]:
        """The token of a device that was here with a tool, and the tool's name."""
        token, name = self.new_token(), self.unique("tool")
        device = self.open(token)
        device.register(tool(name, **claims))
        device.close()
        self.gateway.wait_gone(name)
        return token, name

    def waiting(self) -> int:
        page = self.gateway.admin_request("GET", "/metrics").body.decode()
        return int(
            float(
                next(
                    line
                    for line in page.splitlines()
                    if line.startswith("crab_calls_waiting_for_devices ")
                ).split()[1]
            )
        )

    def back(self, token: str, name: str, **claims: Any) -> Device:
        device = self.open(token)
        device.register(tool(name, **claims))
        return device

    def test_a_call_of_a_read_only_tool_waits_and_runs_when_the_device_is_back(self) -> None:
        for qualified in (False, True):
            with self.subTest(qualified=qualified):
                token, name = self.left(**READS)
                call = self.start(f"{self.slug}__{name}" if qualified else name)
                eventually(lambda: self.waiting() == 1, "the call waits")
                device = self.back(token, name, **READS)
                device.answer(device.next_call(name), "here again")
                self.assertEqual(call.result(20)["result"], {"text": "here again"})
                self.assertEqual(self.waiting(), 0)

    def test_without_the_wish_it_fails_at_once(self) -> None:
        _, name = self.left(**READS)
        self.assertEqual(self.gateway.call(name).code, "TOOL_NOT_FOUND")
        self.assertEqual(self.call(name, 0)["error"]["code"], "TOOL_NOT_FOUND")

    def test_tools_that_may_change_something_are_not_waited_for(self) -> None:
        for claims in (
            {},
            {"annotations": {"read_only": False}},
            {"annotations": {"read_only": True, "destructive": True}},
        ):
            with self.subTest(claims):
                _, name = self.left(**claims)
                self.assertEqual(self.call(name, 20_000)["error"]["code"], "TOOL_NOT_FOUND")

    def test_a_name_that_nobody_ever_had_is_not_waited_for(self) -> None:
        self.assertEqual(
            self.call(self.unique("nothing"), 20_000)["error"]["code"], "TOOL_NOT_FOUND"
        )

    def test_a_device_that_stays_away_is_unavailable_after_the_wait(self) -> None:
        _, name = self.left(**READS)
        answer = self.call(name, 200)
        self.assertEqual(
            (answer["status"], answer["error"]["code"]),
            ("retryable_error", "DEPENDENCY_UNAVAILABLE"),
        )
        for said in (answer, self.call(name, 20_000, timeout_ms=200)):
            self.assertEqual(said["error"]["code"], "DEPENDENCY_UNAVAILABLE")
            self.assertRegex(said["error"]["message"], "away.*nothing was run.*call again")

    def test_a_call_that_waits_is_cancelled_by_its_id_and_only_by_those_who_may(self) -> None:
        _, name = self.left(**READS)
        call = self.start(name, call_id="patient-1")
        eventually(lambda: self.waiting() == 1, "the call waits")
        self.assertEqual(
            self.gateway.cancel("patient-1", caller="stranger").json()["status"], "not_found"
        )
        self.assertEqual(self.waiting(), 1)
        self.assertEqual(self.gateway.cancel("patient-1").json()["status"], "cancelling")
        error = call.result(20)["error"]
        self.assertEqual(error["code"], "CANCELLED")
        self.assertRegex(error["message"], "cancelled while it waited.*nothing was run")
        self.assertEqual(self.waiting(), 0)

    def test_a_gateway_that_stops_says_so_at_once_to_calls_that_wait(self) -> None:
        _, name = self.left(**READS)
        call = self.start(name)
        eventually(lambda: self.waiting() == 1, "the call waits")
        watch = Stopwatch()
        self.gateway.stop()
        self.addCleanup(self.gateway.start)
        said = call.result(20)
        self.assertEqual(
            (said["status"], said["error"]["code"]), ("retryable_error", "DEPENDENCY_UNAVAILABLE")
        )
        self.assertRegex(said["error"]["message"], "gateway is stopping.*nothing was run")
        self.assertLess(watch.seconds, 8, "the stop waited for the device")

    def test_crab_call_waits_if_it_is_told_to(self) -> None:
        token, name = self.left(**READS)
        printed = self.pool.submit(self.gateway.crab, "call", name, "--away-wait", "20s")
        eventually(lambda: self.waiting() == 1, "the call waits")
        device = self.back(token, name, **READS)
        device.answer(device.next_call(name), "here again")
        self.assertEqual(printed.result(20).strip(), "here again")

    def test_ctrl_c_ends_the_wait_of_crab_call(self) -> None:
        _, name = self.left(**READS)
        command = subprocess.Popen(
            [program(), "call", name, "--away-wait", "20s", "--socket", str(self.gateway.admin)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(command.kill)
        eventually(lambda: self.waiting() == 1, "the call waits")
        command.send_signal(signal.SIGINT)
        self.assertEqual(command.wait(10), 130)
        self.assertEqual(self.waiting(), 0)

    def test_nonsense_is_refused(self) -> None:
        _, name = self.left(**READS)
        for wrong in ("soon", "-1", "1.5", "999999999"):
            self.assertEqual(self.call(name, wrong)["error"]["code"], "INVALID_ARGS")
