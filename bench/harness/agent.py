"""bench/agent: what the turn loop adds to model and tools. First the loop by itself (agent_bench),
then whole turns over the chat's WebSocket with a scripted model in a process of its own: the time
from a model's answer with a tool call to the next request, the way of the first word, and many
sessions at once."""

import asyncio
import base64
import json
import os
import struct
import subprocess
import sys
import urllib.request
from pathlib import Path
from statistics import median

from . import machine, micro, processes
from .idle import memory
from .servers import Gateway

PER_PRINCIPAL = 32  # connections that the gateway lets one in with


class GatewayWithModel(Gateway):
    def __init__(self, build, core, port):
        super().__init__(build, core)
        self.configuration = f"models: [{{model: instant, url: \"http://127.0.0.1:{port}/v1\"}}]\n"


class Chat:
    """One chat session: just enough of a WebSocket client."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, address, token):
        host, port = address.removeprefix("tcp:").rsplit(":", 1)
        reader, writer = await asyncio.open_connection(host, int(port), limit=2**22)
        key = base64.b64encode(os.urandom(16)).decode()
        writer.write(
            f"GET /ws/chat HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: "
            f"Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {key}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        )
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 101 " not in head:
            raise RuntimeError(head.decode(errors="replace"))
        return cls(reader, writer)

    async def turn(self, content):
        """Asks; returns the nanoseconds that the first word was on its way."""
        data = json.dumps({"type": "message", "content": content}).encode()
        size = (
            struct.pack("!B", 0x80 | len(data))
            if len(data) < 126
            else struct.pack("!BH", 0x80 | 126, len(data))
        )
        self.writer.write(b"\x81" + size + bytes(4) + data)  # a mask of zeros is one
        delay = None
        while True:
            first, size = await self.reader.readexactly(2)
            if size == 126:
                (size,) = struct.unpack("!H", await self.reader.readexactly(2))
            elif size == 127:
                (size,) = struct.unpack("!Q", await self.reader.readexactly(8))
            payload = await self.reader.readexactly(size)
            if first & 15 == 9:  # ping
                self.writer.write(struct.pack("!BBI", 0x8A, 0x80 | len(payload), 0) + payload)
                continue
            if first & 15 == 8:
                raise RuntimeError(f"the gateway closed the connection: {payload!r}")
            now = asyncio.get_running_loop().time() * 1e9
            frame = json.loads(payload)
            if frame["type"] == "chunk" and delay is None:
                delay = now - int(frame["content"])
            if frame["type"] == "error":
                raise RuntimeError(f"a turn failed: {frame}")
            if frame["type"] == "agent_end":
                return delay

    def close(self):
        """Says goodbye, so that nothing is kept for a return."""
        self.writer.write(b"\x88\x82" + bytes(4) + struct.pack("!H", 1000))
        self.writer.close()


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def run(build, options, report, say):
    micro.run("agent", build, options, report, say)
    server_core, load_core = machine.cores("split")
    words = [sys.executable, Path(__file__).with_name("instant_model.py")]
    model = processes.start(words, load_core, stdout=subprocess.PIPE, text=True)
    try:
        port = int(processes.line_with(model, "model ready", 10).split()[-1])
        with GatewayWithModel(build, server_core, port) as server:
            asyncio.run(measure(server, port, options, report, say))
    finally:
        processes.stop(model)


async def measure(server, port, options, report, say):
    turns, rounds = (20, 10) if options.quick else (200, 10)
    sessions, repeats = (100, 6) if options.quick else (1_000, 18)
    report.settings.update(turns=turns, rounds=rounds, sessions=sessions)
    say("one session")
    await one_turn(server, rounds)
    await asyncio.to_thread(gaps_of, port)
    before = processes.cpu_ns(server.pid)
    delays = [await one_turn(server, rounds) for _ in range(turns)]
    used = processes.cpu_ns(server.pid) - before
    gaps = await asyncio.to_thread(gaps_of, port)
    report.row(
        measure="CPU of the gateway per round",
        p50_us=used / 1e3 / (turns * (rounds + 1)),
        samples=turns * (rounds + 1),
    )
    report.row(
        measure="answer with a call -> next request",
        p50_us=median(gaps) / 1e3,
        p99_us=percentile(gaps, 0.99) / 1e3,
        samples=len(gaps),
    )
    report.row(
        measure="first word of the model -> frame",
        p50_us=median(delays) / 1e3,
        p99_us=percentile(delays, 0.99) / 1e3,
        samples=len(delays),
    )
    report.goal("added per round, model and client included, median", median(gaps) / 1e6, 1.0, "ms")
    report.goal("the way of the first word, median", median(delays) / 1e6, 1.0, "ms")
    await many(server, sessions, repeats, report, say)


async def one_turn(server, rounds):
    """In a session of its own, so that every request is as long as in the first turn."""
    chat = await Chat.open(server.public, server.token)
    try:
        return await chat.turn(f"rounds={rounds}")
    finally:
        chat.close()


def gaps_of(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/gaps", timeout=20) as answer:
        return json.loads(answer.read())


async def many(server, sessions, repeats, report, say):
    """Turns of all sessions at once: each batch ends only if the model holds all of them at the
    same time."""
    tokens = [
        server.pair(f"bench-{number}", "caller") for number in range(-(-sessions // PER_PRINCIPAL))
    ]
    sizes = []
    for batch in range(repeats):
        say(f"{sessions} sessions, batch {batch + 1} of {repeats}")
        # New ones each time: a conversation that goes on is longer with each turn, and so is what
        # its turn needs.
        chats = [
            await Chat.open(server.public, tokens[number // PER_PRINCIPAL])
            for number in range(sessions)
        ]
        try:
            await asyncio.wait_for(
                asyncio.gather(*(chat.turn(f"hold={sessions} {'x' * 200}") for chat in chats)), 120
            )
            sizes.append(memory(server.pid)[0])
        finally:
            for chat in chats:
                chat.close()
    report.notes.append(
        "resident MiB after each batch: " + " ".join(f"{size / 2**20:.0f}" for size in sizes)
    )
    third = len(sizes) // 3
    growth = (median(sizes[-third:]) - median(sizes[third : 2 * third])) / 2**20
    report.row(
        measure=f"{sessions} turns at once", memory_mib=sizes[-1] / 2**20, growth_mib=growth
    )
    report.goal(
        f"growth of resident memory, the last third of the batches of {sessions} turns at once "
        f"over the third before",
        growth,
        max(2.0, sizes[-1] / 2**20 * 0.05),
        "MiB",
    )
