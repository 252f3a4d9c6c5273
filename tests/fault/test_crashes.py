"""kill -9 and resets in mid-call, of devices, callers and the gateway itself."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
import uuid
from collections import Counter
from concurrent.futures import Future

from support.case import GatewayCase
from support.device import Device, tool
from support.gateway import Reply, program
from support.http import HttpConnection
from support.rtp import call_request
from support.stream import EndOfStream
from support.wait import Stopwatch, eventually
from support.websocket import WebSocket

GRACE = 0.5
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
        process = subprocess.Popen(
            [sys.executable, "-c", VICTIM, host, str(port), token, name, session_id],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "registered\n")
        return process

    def test_kill_9_of_a_device_in_mid_call_is_an_unknown_outcome_after_the_grace_time(
        self,
    ) -> None:
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
        self.assertTrue(
            process.stdout.readline().strip()
        )  # it got the call after all, and the link had stayed

    def test_an_idempotent_tool_whose_device_dies_is_asked_again_on_its_next_connection_or_fails(
        self,
    ) -> None:
        name, token = self.unique("tool"), self.new_token()
        device = self.open(token)
        device.register(tool(name, annotations={"idempotent": True, "read_only": True}))
        call = self.gateway.start_call(name, timeout_ms=3000)
        device.next_call(name)
        device.cut()
        self.assertIn(
            call.result(10).code,
            ("OUTCOME_UNKNOWN", "DEPENDENCY_UNAVAILABLE", "TOOL_NOT_FOUND", "TIMEOUT"),
        )

    def test_callers_that_are_reset_in_mid_call_leave_no_descriptor_behind(self) -> None:
        name = self.unique("tool")
        device = self.open()
        device.register(tool(name))
        self.gateway.tools()
        before = self.gateway.open_files()
        requests = []
        for _ in range(20):
            connection = HttpConnection(self.gateway.public)
            connection.send(
                "POST",
                "/v1/tools/call",
                {"Authorization": f"Bearer {self.gateway.caller_token()}"},
                call_request(name, timeout_ms=500),
            )
            requests.append(device.next_call(name))
            connection.stream.reset()
        for request in requests[:10]:
            device.answer(request, "nobody is there")
        eventually(
            lambda: self.gateway.open_files() <= before, f"at most {before} descriptors are open"
        )
        device.assert_silent()


class GatewayCrashTest(GatewayCase):
    CONFIG = {"tools": [{"match": "*", "side_effects": True}]}  # so that calls are recorded on disk

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

    def test_tools_of_a_device_that_is_not_back_yet_are_not_unknown(self) -> None:
        """A final TOOL_NOT_FOUND would be believed; nothing is said of devices that are revoked."""
        token, name = self.new_token(), self.unique("tool")
        slug = self.slug
        self.open(token).register(tool(name))
        gone, other = self.new_token("lost"), self.unique("other")
        lost = self.slug
        self.open(gone).register(tool(other))
        self.gateway.stop()
        self.gateway.start()
        for known in (name, f"{slug}__{name}", f"{slug}__what_it_never_had"):
            refused = self.gateway.call(known)
            self.assertEqual(
                (refused.status, refused.code), ("retryable_error", "DEPENDENCY_UNAVAILABLE"), known
            )
        self.assertEqual(self.gateway.call(other).code, "DEPENDENCY_UNAVAILABLE")
        self.gateway.crab("devices", "revoke", lost)
        for unknown in (other, f"{lost}__{other}", "what_nobody_has", f"nobody__{name}"):
            self.assertEqual(self.gateway.call(unknown).code, "TOOL_NOT_FOUND", unknown)
        back = self.open(token)
        back.register(tool(name))
        call = self.gateway.start_call(name)
        back.answer(back.next_call(name), "here again")
        self.assertEqual(call.result(10).status, "ok")
        self.assertEqual(
            self.gateway.call(f"{slug}__what_it_never_had").code, "TOOL_NOT_FOUND", "it is back"
        )

    def test_a_second_gateway_on_the_same_state_is_refused_and_touches_nothing(self) -> None:
        name = self.unique("tool")
        device = self.open(self.new_token())
        device.register(tool(name))
        call = self.gateway.start_call(name, {"a": 1}, idempotency_key="key-" + name)
        asked = device.next_call(name)
        other = self.gateway.folder / "other.yaml"
        runtime = self.gateway.folder / "other-run"
        other.write_text(
            json.dumps(
                {
                    **self.gateway.config,
                    "gateway": {**self.gateway.config["gateway"], "runtime_dir": str(runtime)},
                }
            )
        )
        done = subprocess.run(
            [program(), "gateway", "run", "--config", str(other)],
            capture_output=True,
            text=True,
            timeout=20,
        )
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("another process uses", done.stderr)
        device.answer(asked, "once")
        self.assertEqual(call.result(10).status, "ok")
        repeat = self.gateway.call(name, {"a": 1}, idempotency_key="key-" + name, timeout_ms=1000)
        self.assertEqual(repeat.http.headers["crab-replayed"], "true")

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
        repeat = self.gateway.start_call(
            name, {"a": 1}, idempotency_key="key-" + name, timeout_ms=1000
        )
        self.assertEqual(repeat.result(10).code, "OUTCOME_UNKNOWN")
        back.assert_silent()

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


class KillAtEveryStageTest(GatewayCase):
    """The promise of the ledger: whenever the gateway is killed, nothing runs twice, and who
    repeats a call learns ok or unknown."""

    CONFIG = {"tools": [{"match": "*", "side_effects": True}]}
    # : When it is killed: somewhere between a call's arrival and its answer; as the device gets a
    # call; when a call has run and
    #: its answer is not sent; when an answer is on its way; when all callers have their answers.
    STAGES = ("anywhere", "arrived", "ran", "answered", "told")
    ROUNDS, CALLS = 30, 8
    LONGEST = 0.03  #: seconds that a call may take here

    def setUp(self) -> None:
        self.seed = random.randrange(1 << 32)
        self.moments = random.Random(self.seed)
        self.name, self.token = self.unique("tool"), self.new_token()
        self.runs: Counter[int] = Counter()
        self.learned: Counter[str] = Counter()
        self.ends: dict[int, str] = {}
        self.guard = threading.Lock()

    def kill(self, killed: threading.Event) -> None:
        """Once in a round, whose event tells of it."""
        with self.guard:
            if not killed.is_set():
                self.gateway.kill()
                killed.set()

    def kill_soon(self, killed: threading.Event) -> None:
        timer = threading.Timer(self.moments.random() * self.LONGEST, self.kill, (killed,))
        self.addCleanup(timer.join)
        timer.start()

    def device_that_counts(self, stage: str, killed: threading.Event) -> None:
        def run(args: dict[str, int]) -> str:
            if stage == "arrived":
                self.kill(killed)
            with self.guard:
                self.runs[args["n"]] += 1
            if stage == "ran":
                self.kill(killed)
            if stage == "answered":
                self.kill_soon(killed)
            return f"ran {args['n']}"

        device = self.open(self.token)
        device.register(tool(self.name))
        device.serve({self.name: run})

    def answer_of(self, call: Future[Reply]) -> Reply | None:
        """What the caller learned; nothing when the gateway died first."""
        failure = call.exception(20)
        self.assertTrue(
            failure is None or isinstance(failure, (EndOfStream, OSError)),
            f"{failure!r}, seed {self.seed}",
        )
        return None if failure else call.result()

    def round(self, number: int) -> None:
        stage = self.STAGES[number % len(self.STAGES)]
        killed = threading.Event()
        self.device_that_counts(stage, killed)
        calls = range(number * self.CALLS, (number + 1) * self.CALLS)
        started = [
            self.gateway.start_call(self.name, {"n": n}, idempotency_key=f"key-{n}") for n in calls
        ]
        if stage == "anywhere":
            self.kill_soon(killed)
        if stage == "told":
            for call in started:
                call.result(20)
            self.kill(killed)
        self.assertTrue(killed.wait(20), f"{stage}: never killed, seed {self.seed}")
        first = {n: self.answer_of(call) for n, call in zip(calls, started, strict=True)}
        self.gateway.start()
        self.device_that_counts("", killed)
        for n, before in first.items():
            what = f"call {n}, killed when {stage}, seed {self.seed}"
            reply = self.gateway.call(
                self.name, {"n": n}, idempotency_key=f"key-{n}", timeout_ms=10_000
            )
            if before:
                self.assertEqual(
                    (reply.status, reply.result, reply.http.headers.get("crab-replayed")),
                    ("ok", before.result, "true"),
                    what,
                )
            if reply.status == "ok":
                self.assertEqual(self.runs[n], 1, what)
            else:
                self.assertEqual(reply.code, "OUTCOME_UNKNOWN", what)
                self.assertFalse(reply.error["retryable"], what)
                self.assertLessEqual(self.runs[n], 1, what)
            self.learned[f"{stage}: {reply.status if reply.status == 'ok' else reply.code}"] += 1
            self.ends[n] = "completed" if reply.status == "ok" else "failed"

    def told(self) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
        """The requests and the ends of every call, by its number, as the outbox tells them."""
        requests: dict[int, list[str]] = {n: [] for n in self.ends}
        ends: dict[int, list[str]] = {n: [] for n in self.ends}
        numbers: dict[str, int] = {}
        last = str(uuid.uuid4())
        mark = {
            "version": "v1",
            "event_id": last,
            "trace_id": "t",
            "tenant_id": "default",
            "occurred_at": "2026-02-13T16:00:00Z",
            "event_type": "heartbeat.tick",
            "source": {"component_type": "operator", "component_id": "tests"},
            "routing": {"agent_id": "a", "session_id": last},
            "payload": {},
        }
        with WebSocket(self.gateway.admin, "/v1/events?cursor=earliest&remember=false") as stream:
            self.assertEqual(self.gateway.admin_request("POST", "/v1/events", mark).status, 202)
            while True:
                event = json.loads(stream.receive_text(10))["event"]
                if event["event_id"] == last:
                    return requests, ends
                payload, kind = event["payload"], event["event_type"].removeprefix("tool.call.")
                if payload.get("tool_name") != self.name:
                    continue
                if kind == "requested":
                    numbers[payload["call_id"]] = payload["args"]["n"]
                    requests[payload["args"]["n"]].append(payload["call_id"])
                else:
                    ends[numbers[payload["call_id"]]].append(kind)

    def test_nothing_runs_twice_and_every_caller_learns_how_its_call_ended_or_that_this_is_unknown(
        self,
    ) -> None:
        for number in range(self.ROUNDS):
            self.round(number)
        self.assertEqual(sum(self.learned.values()), self.ROUNDS * self.CALLS)
        self.assertEqual(max(self.runs.values()), 1, f"seed {self.seed}")
        self.assertGreater(self.learned["ran: OUTCOME_UNKNOWN"], 0, f"{self.learned}")
        self.assertEqual(self.learned["told: OUTCOME_UNKNOWN"], 0, f"{self.learned}")
        requests, ends = self.told()
        self.assertEqual(
            {n: len(ids) for n, ids in requests.items()},
            dict.fromkeys(self.ends, 1),
            f"seed {self.seed}",
        )
        # The tool's answer may have reached the outbox before the gateway was killed, and not the
        # ledger; never the other way round.
        wrong = {n: told for n, told in ends.items() if told not in ([self.ends[n]], ["completed"])}
        self.assertEqual(wrong, {}, f"seed {self.seed}")
