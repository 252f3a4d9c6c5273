"""A scripted model: no intelligence, only a server that speaks chat completions and Anthropic's
messages and says what a test tells it to.

    with ScriptedModel() as model:
        model.script(Answer("Let me see. ", calls=[call("thermometer", room="kitchen")]), Answer("It
        is 21 degrees."))
        ...  # a gateway configured with models: [{model: parrot, url: model.url}]
        model.requests[0].body["messages"]

Each request takes the next step of the script; without one it is answered with `ok`.
"""

from __future__ import annotations

import json
import signal
import socket
import ssl
import struct
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Call:
    """A tool call; `args` as text is sent as it is, fit or not."""

    tool: str
    args: Mapping[str, Any] | str
    id: str | None = None

    def text(self) -> str:
        return self.args if isinstance(self.args, str) else json.dumps(self.args)


def call(tool: str, /, **args: Any) -> Call:
    return Call(tool, args)


@dataclass(frozen=True)
class Answer:
    """Text in pieces of `piece` characters, reasoning before it, which may be signed (Anthropic's),
    calls after it."""

    text: str = ""
    thinking: str = ""
    calls: Sequence[Call] = ()
    piece: int = 4
    usage: tuple[int, int] = (11, 7)
    signature: str = ""


@dataclass(frozen=True)
class Refusal:
    status: int
    message: str = "no"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class BreakOff:
    """Some text, with `ended` the reason why nothing follows, then the connection is reset."""

    text: str = ""
    ended: bool = False


@dataclass(frozen=True)
class Hold:
    """Some text, then silence until the other side leaves (`model.left` is set) or `model.release`
    is."""

    text: str = ""


@dataclass(frozen=True)
class Endless:
    """Text without an end, until the other side leaves."""

    piece: str = "and so on "


@dataclass(frozen=True)
class Raw:
    """A body that is sent as it is."""

    body: bytes
    content_type: str = "text/event-stream"


Step = Answer | Refusal | BreakOff | Hold | Endless | Raw


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class _ChatCompletions:
    def __init__(self) -> None:
        self.calls = 0

    def start(self) -> list[bytes]:
        return [self._event({"role": "assistant", "content": ""})]

    def text(self, piece: str) -> bytes:
        return self._event({"content": piece})

    def thinking(self, piece: str) -> bytes:
        return self._event({"reasoning_content": piece})

    def sign(self, signature: str) -> bytes:
        return b""

    def call(self, one: Call, call_id: str) -> list[bytes]:
        index, text = self.calls, one.text()
        self.calls += 1
        half = len(text) // 2
        first = self._event(
            {
                "tool_calls": [
                    {
                        "index": index,
                        "id": call_id,
                        "type": "function",
                        "function": {"name": one.tool, "arguments": ""},
                    }
                ]
            }
        )
        return [
            first,
            *(
                self._event({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
                for part in (text[:half], text[half:])
            ),
        ]

    def end(self, usage: tuple[int, int]) -> list[bytes]:
        reason = "tool_calls" if self.calls else "stop"
        counted = {
            "choices": [],
            "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]},
        }
        return [
            self._event({}, reason),
            b"data: " + json.dumps(counted).encode() + b"\n\n",
            b"data: [DONE]\n\n",
        ]

    def _event(self, delta: dict[str, Any], reason: str | None = None) -> bytes:
        event = {
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        }
        return b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n"


class _Messages:
    def __init__(self) -> None:
        self.index = -1
        self.kind = ""
        self.calls = 0

    def start(self) -> list[bytes]:
        return [
            self._event(
                "message_start",
                message={
                    "role": "assistant",
                    "content": [],
                    "usage": {"input_tokens": 11, "output_tokens": 1},
                },
            ),
            self._event("ping"),
        ]

    def text(self, piece: str) -> bytes:
        return self._block("text", {"type": "text", "text": ""}) + self._event(
            "content_block_delta", index=self.index, delta={"type": "text_delta", "text": piece}
        )

    def thinking(self, piece: str) -> bytes:
        begun = self._block("thinking", {"type": "thinking", "thinking": ""})
        return begun + self._event(
            "content_block_delta",
            index=self.index,
            delta={"type": "thinking_delta", "thinking": piece},
        )

    def sign(self, signature: str) -> bytes:
        return self._event(
            "content_block_delta",
            index=self.index,
            delta={"type": "signature_delta", "signature": signature},
        )

    def call(self, one: Call, call_id: str) -> list[bytes]:
        self.calls += 1
        self.kind = ""  # every call is a block of its own
        begun = self._block(
            "tool_use", {"type": "tool_use", "id": call_id, "name": one.tool, "input": {}}
        )
        text = one.text()
        half = len(text) // 2
        return [
            begun,
            *(
                self._event(
                    "content_block_delta",
                    index=self.index,
                    delta={"type": "input_json_delta", "partial_json": part},
                )
                for part in (text[:half], text[half:])
            ),
        ]

    def end(self, usage: tuple[int, int]) -> list[bytes]:
        closed = self._event("content_block_stop", index=self.index) if self.index >= 0 else b""
        reason = "tool_use" if self.calls else "end_turn"
        return [
            closed,
            self._event(
                "message_delta", delta={"stop_reason": reason}, usage={"output_tokens": usage[1]}
            ),
            self._event("message_stop"),
        ]

    def _block(self, kind: str, block: dict[str, Any]) -> bytes:
        if self.kind == kind:
            return b""
        closed = self._event("content_block_stop", index=self.index) if self.index >= 0 else b""
        self.kind = kind
        self.index += 1
        return closed + self._event("content_block_start", index=self.index, content_block=block)

    def _event(self, kind: str, **fields: Any) -> bytes:
        return (
            f"event: {kind}\ndata: "
            f"{json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n"
        ).encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a piece goes out when it is said
    server: _Server

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        model = self.server.model
        step = model._take(
            Request(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        )
        form = _Messages() if self.path.endswith("/messages") else _ChatCompletions()
        try:
            self._play(step, form)
        except OSError:
            model.left.set()
            self.close_connection = True

    def _play(self, step: Step, form: _ChatCompletions | _Messages) -> None:
        if isinstance(step, Refusal):
            return self._refuse(step)
        if isinstance(step, Raw):
            return self._whole(200, step.content_type, step.body)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in form.start():
            self._chunk(event)
        if isinstance(step, Endless):
            while True:
                self._chunk(form.text(step.piece))
        if isinstance(step, Answer):
            return self._answer(step, form)
        if step.text:
            self._chunk(form.text(step.text))
        if isinstance(step, Hold):
            return self._hold(form)
        if step.ended:
            for event in form.end((1, 1))[:2]:  # all but the last
                self._chunk(event)
            return self._end_badly()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True

    def _answer(self, step: Answer, form: _ChatCompletions | _Messages) -> None:
        for at in range(0, len(step.thinking), step.piece):
            self._chunk(form.thinking(step.thinking[at : at + step.piece]))
        if step.thinking and step.signature:
            self._chunk(form.sign(step.signature))
        for at in range(0, len(step.text), step.piece):
            self._chunk(form.text(step.text[at : at + step.piece]))
        for one in step.calls:
            for event in form.call(
                one, one.id if one.id is not None else self.server.model._next_id()
            ):
                self._chunk(event)
        for event in form.end(step.usage):
            self._chunk(event)
        self._end()

    def _hold(self, form: _ChatCompletions | _Messages) -> None:
        model = self.server.model
        self.connection.settimeout(0.02)
        while not model.release.is_set():
            try:
                if self.connection.recv(1) == b"":
                    raise ConnectionResetError
            except TimeoutError:
                continue
        self.connection.settimeout(None)
        for event in form.end((1, 1)):
            self._chunk(event)
        self._end()

    def _end_badly(self) -> None:
        """What was said arrives, the end of the body does not."""
        self.connection.shutdown(socket.SHUT_WR)
        self.close_connection = True

    def _refuse(self, step: Refusal) -> None:
        self._whole(
            step.status,
            "application/json",
            json.dumps({"error": {"message": step.message, "type": "scripted"}}).encode(),
            step.headers,
        )

    def _whole(
        self, status: int, kind: str, body: bytes, headers: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _chunk(self, data: bytes) -> None:
        if data:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _end(self) -> None:
        self.wfile.write(b"0\r\n\r\n")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    model: ScriptedModel

    def handle_error(self, *_: object) -> None:
        pass  # a caller that leaves is none


class ScriptedModel:
    """The server; a context manager. `tls` is a pair of files, certificate and key."""

    def __init__(self, tls: tuple[str, str] | None = None) -> None:
        self.requests: list[Request] = []
        self.release = threading.Event()
        self.left = threading.Event()
        self._steps: list[Step] = []
        self._ids = 0
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.model = self
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.origin = f"{'https' if tls else 'http'}://127.0.0.1:{self._server.server_address[1]}"
        self.url = self.origin + "/v1"

    def __enter__(self) -> ScriptedModel:
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def script(self, *steps: Step) -> None:
        """What the next requests are answered with; forgets what came before."""
        with self._lock:
            self.requests.clear()
            self._steps = list(steps)
            self.release.clear()
            self.left.clear()

    def last_messages(self) -> list[dict[str, Any]]:
        return self.requests[-1].body["messages"]

    def offered(self, at: int = -1) -> list[str]:
        """The names of the tools in one request, as the model saw them."""
        tools = self.requests[at].body.get("tools", [])
        return [tool.get("function", tool)["name"] for tool in tools]

    def _take(self, request: Request) -> Step:
        with self._lock:
            self.requests.append(request)
            return self._steps.pop(0) if self._steps else Answer("ok")

    def _next_id(self) -> str:
        with self._lock:
            self._ids += 1
            return f"call_{self._ids}"


def main() -> None:
    """Plays the model of the demonstration (./run): prints its address, answers until it is
    stopped."""
    remembered = {"entries": [{"text": "This machine was shown in the demonstration."}]}
    with ScriptedModel() as model:
        model.script(
            Answer(
                "I ask the machine and make a note. ",
                thinking="Two tools at once. ",
                calls=[call("device_info"), Call("memory_append", remembered)],
            ),
            Answer(
                "It is the machine above; I have noted that it was shown. (These words are "
                "scripted.)"
            ),
        )
        print(model.url, flush=True)
        signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    main()
