"""A bystander, as a process of its own: a device with one tool, and a caller that calls it again
and again.

probe.py HOST PORT DEVICE_TOKEN CALLER_TOKEN: prints `ready`; for each line on standard input prints
what was measured since the one before as JSON, {"seconds": [...], "failures": [...]}; ends with its
input. Every tenth call is made on a connection of its own.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from dataclasses import dataclass

from support.device import Device, tool
from support.http import HttpConnection
from support.rtp import call_request

PACE, PATIENCE, TOOL = 0.01, 10.0, "bystander_echo"


@dataclass
class Address:
    """As much of a Gateway as a Device needs."""

    public: tuple[str, int]


class Caller:
    def __init__(self, address: tuple[str, int], token: str) -> None:
        self.address, self.headers = address, {"Authorization": f"Bearer {token}"}
        self.seconds: list[float] = []
        self.failures: list[str] = []
        self.lock = threading.Lock()

    def run(self) -> None:
        number = 0
        kept: HttpConnection | None = None
        while True:
            number += 1
            begin = time.monotonic()
            failure = ""
            try:
                if number % 10 == 0:
                    with HttpConnection(self.address, PATIENCE) as fresh:
                        self.call(fresh)
                else:
                    kept = kept or HttpConnection(self.address, PATIENCE)
                    self.call(kept)
            # Whatever keeps a call from its answer is what is measured here.
            except Exception as error:  # noqa: BLE001
                failure, kept = f"{type(error).__name__}: {error}", None
            took = time.monotonic() - begin
            with self.lock:
                self.seconds.append(took)
                if failure:
                    self.failures.append(failure)
            time.sleep(max(0.0, PACE - took))

    def call(self, connection: HttpConnection) -> None:
        response = connection.request(
            "POST", "/v1/tools/call", self.headers, call_request(TOOL, {"n": 1})
        )
        if response.status != 200 or response.json()["status"] != "ok":
            raise AssertionError(f"{response.status} {response.body[:300]!r}")

    def take(self) -> dict[str, list[object]]:
        with self.lock:
            taken = {"seconds": self.seconds, "failures": self.failures}
            self.seconds, self.failures = [], []
        return taken


def main() -> None:
    host, port, device_token, caller_token = sys.argv[1:5]
    address = (host, int(port))
    device = Device(Address(address), device_token, timeout=3600.0)  # type: ignore[arg-type]
    device.register(tool(TOOL))
    device.serve({TOOL: lambda args: json.dumps(args)})
    caller = Caller(address, caller_token)
    threading.Thread(target=caller.run, daemon=True).start()
    print("ready", flush=True)
    for _ in sys.stdin:
        print(json.dumps(caller.take()), flush=True)
    os._exit(0)  # with whatever its threads are in


if __name__ == "__main__":
    main()
