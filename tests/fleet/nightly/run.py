#!/usr/bin/env python3
"""Gateways of one fleet under load while nodes, NATS and PostgreSQL are killed, stopped and started
anew; then looks whether the history of it is as it has to be (check_history.py).

usage: tests/fleet/nightly/run.py [--seconds 1800] [--seed N] [--nodes 3]

Needs PostgreSQL, nats-server and a built crab ($CRAB_BIN, else build/dev/crab). What is done
follows from the seed, and when it happens from the machine. Exits 1 when an invariant is broken,
and says where the history is then."""

from __future__ import annotations

import argparse
import collections
import contextlib
import datetime
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
os.environ.setdefault("CRAB_BIN", str(ROOT / "build/dev/crab"))
sys.path[:0] = [str(ROOT / "tests/conformance"), str(Path(__file__).resolve().parent)]

from check_history import check  # noqa: E402
from support.device import Device, tool  # noqa: E402
from support.gateway import Gateway  # noqa: E402
from support.http import fetch  # noqa: E402
from support.nats import NatsServer  # noqa: E402
from support.postgres import Postgres  # noqa: E402
from support.rtp import call_request, envelope  # noqa: E402
from support.stream import EndOfStream  # noqa: E402
from support.websocket import Closed, Refused, WebSocket  # noqa: E402

DEVICES, CALLERS, ATTEMPTS = 4, 6, 6
READERS, JOBS = 3, 20
#: Answers that say that this attempt has run nothing.
NOTHING = {
    "UNAVAILABLE",
    "DEPENDENCY_UNAVAILABLE",
    "TOOL_NOT_FOUND",
    "RATE_LIMITED",
    "ALREADY_IN_PROGRESS",
}
AWAY = (OSError, EndOfStream, Closed, Refused, AssertionError, TimeoutError)


class History:
    """What happened, in the order in which it did; thread-safe."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.codes: collections.Counter[str] = collections.Counter()
        self._lock = threading.Lock()

    def note(self, what: str, **more: Any) -> None:
        with self._lock:
            self.events.append({"t": time.monotonic(), "what": what, **more})

    def keys_with(self, code: str) -> list[str]:
        return sorted({event["key"] for event in self.events if event.get("code") == code})

    def count(self, what: str) -> int:
        return sum(event["what"] == what for event in self.events)


class Fleet:
    """The nodes, and what they stand on."""

    def __init__(self, nodes: int, stack: contextlib.ExitStack) -> None:
        self.database = stack.enter_context(Postgres())
        self.nats = stack.enter_context(NatsServer())
        folder = self.database.folder
        (folder / "dsn").write_text(self.database.dsn + "\n")
        (folder / "key").write_text("5a" * 32 + "\n")
        self.nodes = [
            stack.enter_context(Gateway(self.config(f"node-{i}", folder))) for i in range(nodes)
        ]
        self.caller = self.nodes[0].pair("ann", ("caller",))
        self.tokens = [self.nodes[0].pair(f"device-{i}", ("device",)) for i in range(DEVICES)]

    def config(self, name: str, folder: Path) -> dict[str, Any]:
        return {
            "fleet": {
                "name": "night",
                "node_name": name,
                "key_file": str(folder / "key"),
                "postgres": {"dsn_file": str(folder / "dsn"), "require_sync": False},
                "nats": {"urls": [self.nats.url]},
            },
            "built_in_hosts": {"cron": True},
            "tools": [
                {"match": "*", "side_effects": True},
                {"match": "*again*", "idempotent": True},
            ],
        }


class Appliance(threading.Thread):
    """A device that is always somewhere, and runs what it is asked to, each request once."""

    def __init__(self, fleet: Fleet, history: History, number: int, seed: int) -> None:
        super().__init__(daemon=True)
        self._fleet, self._history, self._number = fleet, history, number
        self._random = random.Random(seed * 1000 + number)
        self.over = threading.Event()
        self.stays = threading.Event()  #: it leaves no node of its own will any more
        self._seen: set[str] = set()

    def run(self) -> None:
        while not self.over.is_set():
            node = self._random.choice(self._fleet.nodes)
            with contextlib.suppress(*AWAY, ValueError):
                self._stay(node)
            time.sleep(0.1)  # as a client that comes back

    def _stay(self, node: Gateway) -> None:
        device = Device(node, self._fleet.tokens[self._number])
        try:
            device.register(tool(f"act-{self._number}"), tool(f"again-{self._number}"))
            sending = threading.Lock()
            leaves = time.monotonic() + self._random.uniform(5, 60)
            while not self.over.is_set() and (self.stays.is_set() or time.monotonic() < leaves):
                try:
                    frame = device.receive(timeout=1)
                except TimeoutError:
                    continue
                if frame["type"] == "tool_call_request" and frame["id"] not in self._seen:
                    self._seen.add(frame["id"])
                    takes = self._random.choice((0, 0, 0.02, 0.3, 2.0))
                    threading.Thread(
                        target=self._work, args=(device, sending, frame, takes), daemon=True
                    ).start()
        finally:
            device.drop()

    def _work(
        self, device: Device, sending: threading.Lock, request: dict[str, Any], takes: float
    ) -> None:
        key = request["args"]["key"]
        self._history.note("start", key=key, request=request["id"])
        time.sleep(takes)
        value = f"{key}/{uuid.uuid4().hex[:8]}"
        self._history.note("end", key=key, request=request["id"], value=value)
        with sending, contextlib.suppress(*AWAY):
            device.send("tool_result", id=request["id"], output=value, success=True)


class Caller(threading.Thread):
    """Calls under a key until it knows what came of it, at whatever node."""

    def __init__(self, fleet: Fleet, history: History, number: int, seed: int) -> None:
        super().__init__(daemon=True)
        self._fleet, self._history, self._number = fleet, history, number
        self._random = random.Random(seed * 2000 + number)
        self.over = threading.Event()

    def run(self) -> None:
        calls = 0
        while not self.over.is_set():
            calls += 1
            kind = self._random.choice(("act", "act", "again"))
            self.call(f"{kind}-{self._number}-{calls}", kind, self._random.randrange(DEVICES))

    def call(self, key: str, kind: str, device: int) -> bool:
        """Whether its outcome became known."""
        known = False
        for attempt in range(ATTEMPTS):
            node = self._random.choice(self._fleet.nodes)
            what = self.attempt(node, f"{key}.{attempt}", key, f"{kind}-{device}")
            known = known or what == "ok"
            if what == "ok" and self._random.random() < 0.7:
                return True
            if what == "nothing":
                time.sleep(self._random.uniform(0.05, 0.5))
        return known

    def attempt(self, node: Gateway, attempt: str, key: str, name: str) -> str:
        self._history.note("invoke", key=key, attempt=attempt)
        what, code, more = self._ask(node, key, name)
        self._history.codes[code] += 1
        self._history.note(what, key=key, attempt=attempt, code=code, **more)
        return what

    def _ask(self, node: Gateway, key: str, name: str) -> tuple[str, str, dict[str, Any]]:
        request = call_request(name, {"key": key}, idempotency_key=key, timeout_ms=15_000)
        try:
            response = node.fetch(
                "POST", "/v1/tools/call", self._fleet.caller, body=request, timeout=40
            )
        except ConnectionRefusedError:
            return "nothing", "refused", {}
        except AWAY:
            return "unknown", "broken", {}
        if response.status in (401, 503):
            return "nothing", str(response.status), {}
        body = response.json()
        if response.status != 200:
            return "unknown", f"{response.status} {body}", {}
        if body["status"] == "ok":
            return "ok", "ok", {"value": body["result"]["text"]}
        code, message = body["error"]["code"], body["error"]["message"]
        if code == "CONFLICT" and "runs at another gateway" in message:
            code = "ALREADY_IN_PROGRESS"  # as its words say; RTP has one code for both
        if code in NOTHING:
            return "nothing", code, {"message": message}
        return "unknown", code, {"told": code == "OUTCOME_UNKNOWN", "message": message}


class Publisher(threading.Thread):
    """Publishes events at whatever node, each until one of them has taken it."""

    def __init__(self, fleet: Fleet, history: History, seed: int) -> None:
        super().__init__(daemon=True)
        self._fleet, self._history, self._random = fleet, history, random.Random(seed * 3000)
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.is_set():
            event_id = str(uuid.uuid4())
            event = envelope(event_id=event_id, idempotency_key=event_id)
            while not self._publish(event) and not self.over.is_set():
                time.sleep(self._random.uniform(0.05, 0.5))
            time.sleep(self._random.uniform(0, 0.2))

    def _publish(self, event: dict[str, Any]) -> bool:
        node = self._random.choice(self._fleet.nodes)
        try:
            answer = fetch(node.admin, "POST", "/v1/events", body=event, timeout=15)
        except AWAY:
            return False
        if answer.status != 202:
            return False
        self._history.note("accepted", event=answer.json()["event_id"])
        return True


class Reader(threading.Thread):
    """Follows the events at whatever node, and goes on at another one where it was."""

    def __init__(self, fleet: Fleet, history: History, number: int, seed: int) -> None:
        super().__init__(daemon=True)
        self._fleet, self._history, self._name = fleet, history, f"reader-{number}"
        self._random = random.Random(seed * 4000 + number)
        self.position = 0
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.is_set():
            node = self._random.choice(self._fleet.nodes)
            with contextlib.suppress(*AWAY, ValueError):
                self._follow(node)
            time.sleep(0.1)

    def _follow(self, node: Gateway) -> None:
        where = f"/v1/events?remember=false&cursor={self.position or 'earliest'}"
        with WebSocket(node.admin, where) as stream:
            leaves = time.monotonic() + self._random.uniform(2, 40)
            while not self.over.is_set() and time.monotonic() < leaves:
                try:
                    message = json.loads(stream.receive_text(1))
                except TimeoutError:
                    continue
                self.position = int(message["cursor"])
                self._history.note(
                    "told",
                    reader=self._name,
                    position=self.position,
                    event=message["event"]["event_id"],
                )
                if self.position % 50 == 0:
                    stream.send_text(json.dumps({"ack": message["cursor"]}))


def create_jobs(fleet: Fleet) -> None:
    for i in range(JOBS):
        request = call_request("cron.create", {"name": f"job-{i}", "schedule": "* * * * *"})
        answer = fetch(
            fleet.nodes[i % len(fleet.nodes)].admin, "POST", "/v1/tools/call", body=request
        ).json()
        assert answer["status"] == "ok", answer


def what_is_open(fleet: Fleet) -> list[str]:
    """I13: all is over, so within 30 s (a fence, and a look at what is left) no call is without an
    end."""
    until = time.monotonic() + 30
    while (open_calls := fleet.database.ask("SELECT request_id FROM event_open").split()) and (
        time.monotonic() < until
    ):
        time.sleep(0.5)
    return [f"I13: the call of the event {request} has no end" for request in open_calls]


def read_line(fleet: Fleet, history: History) -> None:
    """The events as they are stored, and what jobs have fired among them."""
    rows = fleet.database.ask(
        "SELECT position, event_id, envelope::json ->> 'idempotency_key', type, envelope::json #>> "
        "'{payload,call_id}' FROM event ORDER BY position"
    )
    for row in rows.splitlines():
        position, event, key, kind, call = row.split("|")
        begins = call if kind == "tool.call.requested" else None
        ends = call if kind in ("tool.call.completed", "tool.call.failed") else None
        history.note("line", position=int(position), event=event, begins=begins, ends=ends)
        if kind == "cron.triggered":
            _, job, due = key.split(":", 2)
            minute = datetime.datetime.fromisoformat(due.replace("Z", "+00:00")).timestamp() // 60
            history.note("fired", job=job, due=int(minute))


class Nemesis:
    """Does one thing after the other to the fleet, and undoes it."""

    def __init__(self, fleet: Fleet, history: History, seed: int) -> None:
        self._fleet, self._history, self._random = fleet, history, random.Random(seed)
        self.done: collections.Counter[str] = collections.Counter()
        self._faults: tuple[Callable[[], None], ...] = (
            self._kill_one,
            self._kill_two,
            self._restart_one,
            self._pause_one,
            self._nats,
            self._database,
        )

    def step(self) -> None:
        fault = self._random.choice(self._faults)
        name = fault.__name__.removeprefix("_")
        self.done[name] += 1
        part = name if name in ("nats", "database") else "node"
        self._history.note("fault", part=part, name=name)
        fault()
        self._history.note("healed", part=part)
        time.sleep(self._random.uniform(1, 8))

    def _kill_one(self) -> None:
        self._kill(1)

    def _kill_two(self) -> None:
        self._kill(2)

    def _kill(self, count: int) -> None:
        nodes = self._random.sample(self._fleet.nodes, count)
        for node in nodes:
            node.kill()
        time.sleep(self._random.choice((0, 1, 12)))
        for node in nodes:
            node.start()

    def _restart_one(self) -> None:
        node = self._random.choice(self._fleet.nodes)
        node.stop()
        node.start()

    def _pause_one(self) -> None:
        node = self._random.choice(self._fleet.nodes)
        node.process.send_signal(signal.SIGSTOP)
        time.sleep(self._random.choice((1, 3, 12)))
        node.process.send_signal(signal.SIGCONT)

    def _nats(self) -> None:
        self._fleet.nats.kill()
        time.sleep(self._random.uniform(0, 5))
        self._fleet.nats.start()

    def _database(self) -> None:
        self._fleet.database.stop()
        time.sleep(self._random.uniform(0, 8))
        self._fleet.database.start()


def is_whole_again(fleet: Fleet, history: History, caller: Caller) -> list[str]:
    """I13: within 20 s after the last fault every node reaches every device."""
    missing = {
        (node.config["fleet"]["node_name"], i) for node in fleet.nodes for i in range(DEVICES)
    }
    until = time.monotonic() + 20
    while missing and time.monotonic() < until:
        for name, device in sorted(missing):
            node = next(one for one in fleet.nodes if one.config["fleet"]["node_name"] == name)
            key = f"act-last-{uuid.uuid4().hex[:8]}"
            if caller.attempt(node, key + ".0", key, f"act-{device}") == "ok":
                missing.discard((name, device))
    return [f"I13: {name} does not reach device {device}" for name, device in sorted(missing)]


def run(seconds: float, seed: int, nodes: int) -> int:
    history = History()
    with contextlib.ExitStack() as stack:
        fleet = Fleet(nodes, stack)
        appliances = [Appliance(fleet, history, i, seed) for i in range(DEVICES)]
        callers = [Caller(fleet, history, i, seed) for i in range(CALLERS)]
        readers = [Reader(fleet, history, i, seed) for i in range(READERS)]
        publisher = Publisher(fleet, history, seed)
        create_jobs(fleet)
        for thread in (*appliances, *callers, *readers, publisher):
            thread.start()
        nemesis = Nemesis(fleet, history, seed)
        until = time.monotonic() + seconds
        time.sleep(3)  # of quiet load
        while time.monotonic() < until:
            nemesis.step()
        for caller in callers:
            caller.over.set()
        for appliance in appliances:
            appliance.stays.set()
        broken = is_whole_again(fleet, history, callers[0])
        for thread in callers:
            thread.join(60 * ATTEMPTS)
        publisher.over.set()
        publisher.join(60)
        broken += what_is_open(fleet)
        end = int(fleet.database.ask("SELECT last FROM event_head"))
        until = time.monotonic() + 20
        while any(reader.position < end for reader in readers) and time.monotonic() < until:
            time.sleep(0.2)
        for thread in (*appliances, *readers):
            thread.over.set()
        for reader in readers:
            reader.join(10)
        read_line(fleet, history)
    broken += check(history.events)
    broken += [f"it says CONFLICT of {key}" for key in history.keys_with("CONFLICT")]
    print(f"seed {seed}: {sum(nemesis.done.values())} faults {dict(nemesis.done)}")
    print(f"{history.count('invoke')} attempts {dict(history.codes)}")
    print(f"{history.count('start')} runs, {len(broken)} invariants broken")
    for what in broken:
        print("broken:", what)
    if not broken:
        return 0
    file = Path(tempfile.mkstemp(prefix=f"crab-fleet-{seed}-", suffix=".jsonl")[1])
    file.write_text("".join(json.dumps(event) + "\n" for event in history.events))
    print(f"the history is in {file}")
    return 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1_000_000)
    parser.add_argument("--nodes", type=int, default=3)
    wanted = parser.parse_args()
    return run(wanted.seconds, wanted.seed, wanted.nodes)


if __name__ == "__main__":
    sys.exit(main())
