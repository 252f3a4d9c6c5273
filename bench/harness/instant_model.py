"""The model of bench/agent, a process of its own: no intelligence, only a server of chat
completions that answers at once.

It asks for `list_devices` until a turn has as many outcomes as its question says (`rounds=N`), then
says when it spoke (nanoseconds of the monotonic clock). A question with `hold` is answered when as
many are held as it says. Prints its port; `GET /gaps` tells how long after each answer of the turn
the next request was there, and forgets it.
"""

import asyncio
import json
import re
import time

ROUNDS, HOLD = re.compile(rb"rounds=(\d+)"), re.compile(rb"hold=(\d+)")


def event(delta, reason=None):
    return (
        b"data: "
        + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}).encode()
        + b"\n\n"
    )


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


class Model:
    def __init__(self):
        self.answered_at, self.gaps, self.calls = None, [], 0
        self.held, self.release = 0, asyncio.Event()

    async def serve(self, reader, writer):
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = re.search(rb"(?i)content-length: (\d+)", head)
                body = await reader.readexactly(int(length[1])) if length else b""
                if head.startswith(b"GET"):
                    self.tell(writer)
                else:
                    await self.answer(writer, body, time.monotonic_ns())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def tell(self, writer):
        text = json.dumps(self.gaps).encode()
        self.gaps, self.answered_at = [], None
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            % len(text)
            + text
        )

    async def answer(self, writer, body, now):
        asked = body.rfind(b'"role":"user"')
        outcomes = body.count(b'"role":"tool"', asked)
        if self.answered_at is not None and outcomes > 0:
            self.gaps.append(now - self.answered_at)
        if hold := HOLD.search(body, asked):
            await self.wait_for_others(int(hold[1]))
        rounds = ROUNDS.search(body, asked)
        out = (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: "
            b"chunked\r\n\r\n"
        )
        if rounds and outcomes < int(rounds[1]):
            self.calls += 1
            call = {
                "index": 0,
                "id": f"c{self.calls}",
                "function": {"name": "list_devices", "arguments": "{}"},
            }
            out += (
                chunk(event({"tool_calls": [call]}) + event({}, "tool_calls") + b"data: [DONE]\n\n")
                + b"0\r\n\r\n"
            )
        else:
            out += chunk(event({"content": f"{time.monotonic_ns()}"}))
            writer.write(out)
            await asyncio.sleep(0)  # the first word is on its way before the rest is made
            out = chunk(event({}, "stop") + b"data: [DONE]\n\n") + b"0\r\n\r\n"
        writer.write(out)
        self.answered_at = time.monotonic_ns()

    async def wait_for_others(self, count):
        self.held += 1
        if self.held >= count:
            self.held = 0
            self.release.set()
            self.release = asyncio.Event()
        else:
            await self.release.wait()


async def main():
    model = Model()
    server = await asyncio.start_server(model.serve, "127.0.0.1", 0, limit=2**24, backlog=2048)
    print("model ready", server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
