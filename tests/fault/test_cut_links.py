"""A proxy between a real device (libcrab, or the TypeScript package in Node) and the gateway that
cuts, spoils, repeats and holds back one frame after the other: whatever happens, the tool runs once
and its result arrives (docs/protocols/clawseed.md, section 9, "Calls that survive their link").

What a proxy spoils here is no text any more; a byte that is changed into another good one is what
TLS is for."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from support.case import GatewayCase
from support.gateway import Reply, program
from support.node_device import MISSING, NodeDevice
from support.wait import PATIENCE, eventually

# : Frames of the first connection, by who sends them: session_start, connected, tools_registered,
# request, acknowledgement; and
#: connect, register_tools, accepted, result.
FROM_GATEWAY, FROM_DEVICE = 5, 4
#: The first of those that belong to a call.
CALL_AT = {"gateway": 3, "device": 2}


class Proxy:
    """Passes frames on; on its first connection with text frames, `spoil` may do something to the
    frame that `side` sends as number `at`."""

    def __init__(
        self, target: tuple[str, int], side: str, at: int, spoil: Callable[[bytes], bytes | None]
    ) -> None:
        self.target, self.side, self.at, self.spoil = target, side, at, spoil
        self.done = threading.Event()
        self.again = (
            threading.Event()
        )  #: there is talk on another link than the one that was harmed
        self.harmed: tuple[socket.socket, socket.socket] | None = None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.links: list[socket.socket] = []
        self.threads = [threading.Thread(target=self._accept, daemon=True)]
        self.threads[0].start()

    def close(self) -> None:
        for link in [self.listener, *self.links]:
            try:
                link.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            link.close()
        for thread in self.threads:
            thread.join(PATIENCE)

    def _accept(self) -> None:
        while True:
            try:
                device, _ = self.listener.accept()
                gateway = socket.create_connection(self.target)
            except OSError:
                return
            self.links += [device, gateway]
            pair = (device, gateway)
            for side, source, sink in (("device", device, gateway), ("gateway", gateway, device)):
                self.threads.append(
                    threading.Thread(
                        target=self._pump, args=(side, source, sink, pair), daemon=True
                    )
                )
                self.threads[-1].start()

    def _pump(
        self,
        side: str,
        source: socket.socket,
        sink: socket.socket,
        pair: tuple[socket.socket, socket.socket],
    ) -> None:
        try:
            stream = source.makefile("rb")
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                line = stream.readline()
                if not line:
                    raise OSError("ended")
                head += line
            sink.sendall(head)
            number = 0
            while True:
                frame, is_text = self._frame(stream)
                if is_text and self.harmed not in (None, pair):
                    self.again.set()
                if is_text and side == self.side and not self.done.is_set():
                    if number == self.at:
                        self.harmed = pair
                        self.done.set()
                        spoiled = self.spoil(frame)
                        if spoiled is None:
                            raise OSError("cut")
                        frame = spoiled
                    number += 1
                sink.sendall(frame)
        except OSError:
            for link in pair:
                try:
                    link.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    @staticmethod
    def _frame(stream: object) -> tuple[bytes, bool]:
        def take(count: int) -> bytes:
            data = stream.read(count)
            if len(data) != count:
                raise OSError("ended")
            return data

        frame = take(2)
        length = frame[1] & 0x7F
        if length >= 126:
            extended = take(2 if length == 126 else 8)
            frame, length = frame + extended, int.from_bytes(extended, "big")
        if frame[1] & 0x80:
            frame += take(4)
        return frame + take(length), (frame[0] & 0x0F) == 1


def cut(_: bytes) -> None:
    return None


def nonsense(frame: bytes) -> bytes:
    """The last byte turned into one that no text has; masked or not, it is no JSON any more."""
    return frame[:-1] + bytes([frame[-1] ^ 0x80])


def broken_framing(frame: bytes) -> bytes:
    """A reserved bit that nobody agreed on: whoever gets it has to end the link."""
    return bytes([frame[0] | 0x20]) + frame[1:]


def twice(frame: bytes) -> bytes:
    return frame + frame


def held_back(frame: bytes) -> bytes:
    """Longer than the gateway waits for `tool_call_accepted`, and whatever is behind it waits
    too."""
    time.sleep(3.5)  # the delay is what is tested
    return frame


class CutLinksTest(GatewayCase):
    CONFIG = {"devices": {"grace_ms": 20_000}}

    def tool(self, name: str) -> str:
        """What the tool of the device of that name is called."""
        return name

    @contextmanager
    def device(self, port: int, name: str, runs: Path) -> Iterator[None]:
        """A device whose tool adds the line `ran` to a file."""
        token = self.gateway.folder / f"{name}.token"
        token.write_text(self.gateway.pair(name))
        token.chmod(0o600)
        process = subprocess.Popen(
            [
                program(),
                "device",
                "--gateway",
                f"ws://127.0.0.1:{port}",
                "--token-file",
                str(token),
                "--name",
                name,
                "--state",
                str(self.gateway.folder / f"{name}.json"),
                "--exec",
                f"{name}=sh -c 'echo ran >> {runs}; echo done'",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(20)

    def survives(self, side: str, at: int, spoil: Callable[[bytes], bytes | None]) -> None:
        name = self.unique("count")
        runs = self.gateway.folder / name
        proxy = Proxy(self.gateway.public, side, at, spoil)
        try:
            with self.device(proxy.port, name, runs):
                if (
                    at < CALL_AT[side]
                ):  # a device that never heard the name of its chat session is not asked again
                    eventually(proxy.again.is_set, "the device is back", 20)
                reply = eventually(
                    lambda: self.answered(self.tool(name)), "it is there to be called", 30
                )
                self.assertEqual(reply.status, "ok", reply.body)
                self.assertEqual(runs.read_text(), "ran\n", "it ran once")
                eventually(proxy.done.is_set, "the proxy has done it", 20)
        finally:
            proxy.close()

    def answered(self, tool: str) -> Reply | None:
        """The answer to a call, unless the device was away and nothing was run."""
        reply = self.gateway.call(tool, timeout_ms=30_000, timeout=40)
        return (
            reply
            if reply.status == "ok"
            or reply.code not in ("TOOL_NOT_FOUND", "DEPENDENCY_UNAVAILABLE")
            else None
        )

    def each(
        self, spoil: Callable[[bytes], bytes | None], first: dict[str, int] | None = None
    ) -> None:
        for side, frames in (("gateway", FROM_GATEWAY), ("device", FROM_DEVICE)):
            for at in range((first or {}).get(side, 0), frames):
                with self.subTest(side=side, frame=at):
                    self.survives(side, at, spoil)

    def test_a_link_cut_at_any_frame_runs_the_tool_once_and_loses_no_result(self) -> None:
        self.each(cut)

    def test_a_frame_that_was_spoiled_neither(self) -> None:
        self.each(nonsense)

    def test_nor_one_whose_framing_was_broken(self) -> None:
        self.each(broken_framing)

    def test_nor_one_that_came_twice(self) -> None:
        self.each(twice, CALL_AT)

    def test_nor_one_that_came_late(self) -> None:
        self.each(held_back, CALL_AT)


@unittest.skipIf(MISSING, MISSING)
class TypescriptCutLinksTest(CutLinksTest):
    def tool(self, name: str) -> str:
        return f"{name}__count"

    @contextmanager
    def device(self, port: int, name: str, runs: Path) -> Iterator[None]:
        device = NodeDevice(port, name, self.gateway.pair(name), {"CRAB_COUNT": str(runs)})
        try:
            yield
        finally:
            device.close()
