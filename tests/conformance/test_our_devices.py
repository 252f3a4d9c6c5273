"""docs/protocols/clawseed.md, section 10: our own clients, `crab devices run` and the TypeScript
package, at a gateway of a few lines (checklist 69, 70)."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Any

from support.gateway import program
from support.node_device import MISSING, NodeDevice
from support.stream import EndOfStream
from support.wait import PATIENCE
from support.websocket import CLOSE, CONTINUATION, PING, PONG, TEXT, Frame, accept_key
from test_support import Peer

_SESSION = {
    "type": "session_start",
    "v": 1,
    "session_id": "kitchen-7",
    "resumed": False,
    "message_count": 0,
}
_COMES_BACK = 2 * PATIENCE  # the first wait is 1 s at most, and Node takes its time


class Link:
    """The gateway's end of one connection; `head` is what the client asked for."""

    def __init__(self, peer: Peer, head: str) -> None:
        self.peer, self.head = peer, head
        key = re.search(r"Sec-WebSocket-Key: (\S+)", self.head)[1]
        protocol = "Sec-WebSocket-Protocol: clawseed.v1\r\n" if "clawseed.v1" in self.head else ""
        peer.send(
            f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
            f"Upgrade\r\n{protocol}"
            f"Sec-WebSocket-Accept: {accept_key(key)}\r\n\r\n".encode()
        )
        self.send(_SESSION)

    def send(self, *frames: dict[str, Any]) -> None:
        for frame in frames:
            self.peer.write_frame(Frame(TEXT, json.dumps(frame).encode()))

    def receive(self) -> dict[str, Any]:
        """The next frame of JSON; pings are answered."""
        text = b""
        while True:
            frame = self.peer.read_frame()
            if frame.opcode == PING:
                self.peer.write_frame(Frame(PONG, frame.payload))
            elif frame.opcode in (TEXT, CONTINUATION):
                text += frame.payload
                if frame.fin:
                    return json.loads(text)
            elif frame.opcode == CLOSE:
                raise AssertionError(f"the client has closed: {frame.payload!r}")

    def expect(self, kind: str) -> dict[str, Any]:
        frame = self.receive()
        assert frame["type"] == kind, f"{kind} was due, got {frame!r}"
        return frame

    def greet(self) -> list[str]:
        """As a gateway without extensions; the names that the client registers."""
        self.connect = self.expect("connect")
        names = [each["name"] for each in self.expect("register_tools")["tools"]]
        self.send(
            {"type": "connected", "v": 1, "message": "hello"},
            {"type": "tools_registered", "count": len(names), "registered": len(names)},
        )
        return names

    def request(self, call: str, name: str, args: Any = None) -> None:
        self.send({"type": "tool_call_request", "id": call, "name": name, "args": args or {}})

    def acknowledge(self, call: str) -> None:
        self.send({"type": "result_acknowledged", "id": call})

    def close(self, code: int) -> None:
        self.peer.write_frame(Frame(CLOSE, code.to_bytes(2, "big")))
        with contextlib.suppress(EndOfStream, AssertionError):
            while True:
                self.receive()
        self.peer.stream.close()

    def cut(self) -> None:
        self.peer.stream.reset()


class ScriptedGateway:
    """Takes connections on a loopback port; the first `refused` upgrades are answered with 503.
    `came` is when each upgrade was asked for."""

    def __init__(self, refused: int = 0) -> None:
        self.refused = refused
        self.came: list[float] = []
        self._links: queue.Queue[Link] = queue.Queue()
        self._peers: list[Peer] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._peers.append(Peer(connection))
                with contextlib.suppress(EndOfStream, TimeoutError):
                    self._serve(self._peers[-1])

    def _serve(self, peer: Peer) -> None:
        head = peer.read_head()
        upgrades = "Upgrade: websocket" in head
        if upgrades:
            self.came.append(time.monotonic())
        if upgrades and len(self.came) > self.refused:
            self._links.put(Link(peer, head))
        else:
            peer.send(
                b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: "
                b"close\r\n\r\n"
            )
            peer.stream.close()

    def link(self, timeout: float = _COMES_BACK) -> Link:
        return self._links.get(timeout=timeout)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for peer in self._peers:
            peer.stream.close()


class OurDevice:
    """What each of our clients has to do; `ECHO` gives back something, `BROKEN` throws."""

    ECHO = BROKEN = ""

    def dial(self, port: int) -> None:
        """Starts the client; it ends with the test."""
        raise NotImplementedError

    def gateway(self, refused: int = 0) -> ScriptedGateway:
        gateway = ScriptedGateway(refused)
        self.addCleanup(gateway.close)
        self.dial(gateway.port)
        return gateway

    def answers(self, link: Link, call: str, kind: str = "tool_result") -> dict[str, Any]:
        """The next frame is the reply to that call; it is acknowledged."""
        frame = link.expect(kind)
        self.assertEqual(frame["id"], call)
        link.acknowledge(call)
        return frame

    def test_clawseed_69_each_wait_is_between_half_and_all_of_a_delay_that_doubles(self) -> None:
        gateway = self.gateway(refused=3)
        gateway.link(timeout=30)
        waits = [
            after - before for before, after in zip(gateway.came, gateway.came[1:], strict=False)
        ]
        for wait, longest in zip(waits, (1, 2, 4), strict=True):
            self.assertGreaterEqual(wait, longest / 2 - 0.01)
            self.assertLessEqual(wait, longest + 1, waits)  # the dialling itself takes its time

    def test_clawseed_69_it_registers_all_its_tools_after_each_reconnect(self) -> None:
        gateway = self.gateway()
        first = gateway.link(20)
        names = first.greet()
        self.assertLessEqual({self.ECHO, self.BROKEN}, set(names))
        for end in (
            lambda link: link.close(1012),
            lambda link: link.close(1001),
            lambda link: link.cut(),
        ):
            end(first)
            first = gateway.link()
            self.assertIn("session_id=kitchen-7", first.head.splitlines()[0])
            self.assertEqual(sorted(first.greet()), sorted(names))
            self.assertEqual(first.connect["session_id"], "kitchen-7")
            call = f"alive-{len(gateway.came)}"
            first.request(call, self.ECHO)
            self.answers(first, call)

    def test_clawseed_69_results_that_were_not_acknowledged_come_again_and_no_others(self) -> None:
        gateway = self.gateway()
        link = gateway.link(20)
        link.greet()
        link.request("kept", self.ECHO, {"n": 1})
        self.answers(link, "kept")
        link.request("lost", self.ECHO, {"n": 2})
        lost = link.expect("tool_result")
        for end in (lambda link: link.cut(), lambda link: link.close(1012)):
            end(link)
            link = gateway.link()
            link.greet()
            self.assertEqual(link.expect("tool_result"), lost)
        link.acknowledge("lost")
        link.request("fence", self.ECHO)
        self.answers(link, "fence")
        link.cut()
        link = gateway.link()
        link.greet()
        link.request("end", self.ECHO)
        self.answers(link, "end")  # nothing came before it

    def test_clawseed_69_each_request_has_one_reply(self) -> None:
        gateway = self.gateway()
        link = gateway.link(20)
        link.greet()
        for _ in range(3):
            link.request("twice", self.ECHO)
        self.answers(link, "twice")
        link.request("twice", self.ECHO)
        link.request("fence", self.ECHO)
        self.answers(link, "fence")  # and nothing more of the other

    def test_clawseed_70_a_handler_that_throws_and_an_unknown_name_are_tool_errors_on_a_link_that_lives_on(
        self,
    ) -> None:
        gateway = self.gateway()
        link = gateway.link(20)
        link.greet()
        for number, (name, code) in enumerate(
            ((self.BROKEN, ""), ("nobody.handles.this", "TOOL_NOT_FOUND: "), (self.BROKEN, ""))
        ):
            link.request(f"bad-{number}", name)
            error = self.answers(link, f"bad-{number}", "tool_error")["error"]
            self.assertTrue(error.startswith(code) and error, error)
            link.request(f"good-{number}", self.ECHO)
            self.answers(link, f"good-{number}")
        self.assertEqual(len(gateway.came), 1)


class CrabDeviceTest(OurDevice, unittest.TestCase):
    ECHO, BROKEN = "echo", "broken"

    def dial(self, port: int) -> None:
        home = self.enterContext(tempfile.TemporaryDirectory(prefix="crab-device-"))
        words = [
            "--state",
            str(Path(home, "device.json")),
            "--gateway",
            f"ws://127.0.0.1:{port}",
            "--token",
            "t",
            "--exec",
            "echo=cat",
            "--exec",
            "broken=/no/such/program",
        ]
        nowhere = {name: subprocess.DEVNULL for name in ("stdin", "stdout", "stderr")}
        process = subprocess.Popen([program(), "devices", "run", *words], **nowhere)
        self.addCleanup(process.wait, 20)
        self.addCleanup(process.terminate)


@unittest.skipIf(MISSING, MISSING)
class TypescriptDeviceTest(OurDevice, unittest.TestCase):
    ECHO, BROKEN = "whole", "count"  # it has no file to count in

    def dial(self, port: int) -> None:
        self.assertNotIn("CRAB_COUNT", os.environ)
        self.addCleanup(NodeDevice(port, "node", "t").close)


if __name__ == "__main__":
    unittest.main()
