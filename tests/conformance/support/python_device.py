"""A device of clients/python on a thread of this process, and what it reports."""

from __future__ import annotations

import threading
from typing import Any

from crab import Device, DeviceEnd, DeviceEvent

from .wait import PATIENCE, eventually


class PythonDevice:
    """`add` gets the device and adds its tools; it dials in start(), close() stops it."""

    def __init__(self, address: str, name: str, token: str | None, **options: Any) -> None:
        self.events: list[DeviceEvent] = []
        self.end: DeviceEnd | None = None
        self.device = Device(
            address, name=name, token=token, on_event=self.events.append, **options
        )
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> PythonDevice:
        self._thread.start()
        return self

    def _run(self) -> None:
        self.end = self.device.run()

    def seen(self, kind: str) -> list[DeviceEvent]:
        return [event for event in list(self.events) if event.kind == kind]

    def wait(self, kind: str, count: int = 1) -> DeviceEvent:
        eventually(lambda: len(self.seen(kind)) >= count, f"event {kind} number {count}", 15)
        return self.seen(kind)[count - 1]

    def close(self) -> None:
        self.device.stop()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the device does not stop"
