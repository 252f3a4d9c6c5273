"""The base of the hostile-peer tests: an attack for a while, a bystander that must not notice,
memory that must come back."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from support.case import GatewayCase
from support.gateway import Gateway
from support.stream import EndOfStream, Stream
from support.wait import eventually
from support.websocket import Closed, Refused

SECONDS = float(os.environ.get("HOSTILE_SECONDS", "1.5"))  #: how long each attack lasts
# : how much later than on a quiet gateway a bystander may have its answer, at the 99th percentile
MORE_SECONDS = 0.050
MORE_BYTES = 64 << 20  #: how much more memory the gateway may hold afterwards
MOST_BYTES = 768 << 20  #: and at the height of an attack
BACK_SECONDS = 20.0
TRIES = 8  #: passes of an attack, at most: other work of a slow machine only ever adds to a wait
# : in how many of them the bystander's bound has to hold (README.md): a core that another program
# takes proves nothing against the gateway
HOLDS = int(os.environ.get("HOSTILE_HOLDS", "1"))
# : between two steps of a worker: what is tried is what an attack costs the gateway, not who gets
# the cores of this machine
PACE = 0.004
#: How a gateway shuts the door; none of this is a failure of the test.
SHUT = (OSError, EndOfStream, TimeoutError, Closed, Refused)

Step = Callable[[], Any]


class Refused:
    """A step that the gateway is expected to refuse, always or now and then."""

    def __init__(self, step: Step) -> None:
        self.step = step

    def __call__(self) -> Any:
        return self.step()


@dataclass
class Tally:
    """How often a step of an attack ended, and how often the door was shut on it."""

    through: int = 0
    shut: int = 0


class Probe:
    """The bystander (probe.py). A context manager."""

    def __init__(self, gateway: Gateway) -> None:
        words = [
            *gateway.public,
            gateway.pair("bystander-device", ("device",)),
            gateway.pair("bystander", ("caller",)),
        ]
        folder = Path(__file__).resolve().parent
        self._process = subprocess.Popen(
            [sys.executable, str(folder / "probe.py"), *map(str, words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert (
            self._process.stdout and self._process.stdout.readline() == "ready\n"
        ), "the bystander did not start"

    def __enter__(self) -> Probe:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait(5)
        self._process.stdout.close()

    def take(self) -> tuple[list[float], list[str]]:
        """Seconds of each call since the last time, sorted, and what failed."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        taken = json.loads(self._process.stdout.readline())
        return sorted(taken["seconds"]), taken["failures"]


def p99(seconds: list[float]) -> float:
    return seconds[min(len(seconds) - 1, int(len(seconds) * 0.99))] if seconds else float("inf")


class HostileCase(GatewayCase):
    """`hold()` keeps what an attack opens until its end; `attack()` runs it and looks at the
    bystander and at the memory."""

    probe: ClassVar[Probe]
    quiet: ClassVar[float]
    more_bytes: ClassVar[int] = MORE_BYTES

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.probe = cls.enterClassContext(Probe(cls.gateway))
        time.sleep(0.5)
        cls.probe.take()
        time.sleep(1.5)  # what is measured is how it is while nothing else happens
        cls.quiet = p99(cls.probe.take()[0])
        cls.resting = cls.gateway.resident_bytes()

    def setUp(self) -> None:
        self._held: list[Any] = []
        self._lock = threading.Lock()
        self.addCleanup(self.let_go)

    def hold(self, thing: Any, most: int = 256) -> Any:
        """Keeps a stream, connection or device open until the attack ends, or until `most` others
        have come after it."""
        with self._lock:
            self._held.append(thing)
            old = self._held.pop(0) if len(self._held) > most else None
        if old is not None:
            self._close(old)
        return thing

    def let_go(self) -> None:
        with self._lock:
            held, self._held = self._held, []
        for thing in held:
            self._close(thing)

    @staticmethod
    def _close(thing: Any) -> None:
        with contextlib.suppress(*SHUT):
            (getattr(thing, "drop", None) or getattr(thing, "close", None) or thing.stream.close)()

    def connect(self, address: Any = None) -> Stream:
        """A connection that is held."""
        return self.hold(Stream(address or self.gateway.public, 5.0))

    def attack(self, *steps: Step, workers: int = 2) -> None:
        """Repeats each step on `workers` threads for SECONDS; then all of it ends. Looks at the
        bystander and at the memory, and at whether there was an attack: each step has to come to
        its end now and then, or, if it is `Refused`, to be shut out."""
        tallies = [Tally() for _ in steps]
        waits: list[float] = []
        while len(waits) < TRIES and sum(wait <= MORE_SECONDS for wait in waits) < HOLDS:
            waits.append(self.attack_once(steps, workers, tallies))
            self.let_go()
        for number, (step, tally) in enumerate(zip(steps, tallies, strict=True)):
            if isinstance(step, Refused):
                self.assertGreater(tally.shut, 0, f"step {number} was never refused")
            else:
                self.assertGreater(tally.through, 0, f"step {number} was always refused")
        if (
            self.gateway.resident_bytes() == 0
        ):  # under a sanitizer neither time nor memory says anything
            return
        held = sum(wait <= MORE_SECONDS for wait in waits)
        self.assertGreaterEqual(held, HOLDS, f"the bystander waited: {waits} s")
        eventually(
            lambda: self.gateway.resident_bytes() - self.resting <= self.more_bytes,
            "the memory is given back",
            BACK_SECONDS,
        )

    def attack_once(self, steps: Sequence[Step], workers: int, tallies: list[Tally]) -> float:
        """How many seconds later than on a quiet gateway the bystander had its answers, at the 99th
        percentile."""
        end = time.monotonic() + SECONDS
        broken: list[BaseException] = []

        def work(step: Step, tally: Tally) -> None:
            while time.monotonic() < end and not broken:
                try:
                    step()
                    tally.through += 1
                except SHUT:
                    tally.shut += 1  # the next try is another
                except BaseException as error:  # noqa: BLE001: a mistake of the test
                    broken.append(error)
                time.sleep(PACE)

        self.gateway.forget_peak()
        self.probe.take()
        threads = [
            threading.Thread(target=work, args=(step, tally), daemon=True)
            for step, tally in zip(steps, tallies, strict=True)
            for _ in range(workers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS + 30)
        seconds, failures = self.probe.take()
        if broken:
            raise broken[0]
        self.assertEqual(failures, [], "calls of a bystander failed")
        self.assertLessEqual(
            self.gateway.growth_since(self.resting), MOST_BYTES, "memory at its highest"
        )
        self.assertGreater(len(seconds), 0, "the bystander got no turn")
        return p99(seconds) - self.quiet
