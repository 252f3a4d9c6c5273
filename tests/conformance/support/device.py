"""A scripted ClawSeed device: step by step, or answering by itself."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from .frames import check_frame
from .gateway import Gateway
from .http import Response
from .stream import EndOfStream
from .websocket import Closed, WebSocket

Handler = Callable[[dict[str, Any]], Any]
ALL_CAPABILITIES = (
    "register_tools.replace",
    "unregister_tools",
    "tools_registered.rejected",
    "tool_call_request.deadline_ms",
    "tool_call_cancel",
    "tool_call_progress",
)


class ToolFailure(Exception):
    """Thrown by a handler: becomes a `tool_error` with this text."""


def tool(
    name: str,
    parameters: Mapping[str, Any] | None = None,
    description: str = "A tool of the tests",
    **claims: Any,
) -> dict[str, Any]:
    """An element of `register_tools`."""
    return {
        "name": name,
        "description": description,
        "parameters": {"type": "object"} if parameters is None else parameters,
        **claims,
    }


class Device:
    """One connection. `session` is the `session_start` that came. Every frame that comes is checked
    against section 2."""

    def __init__(
        self,
        gateway: Gateway,
        token: str | None,
        *,
        session_id: str | None = None,
        capabilities: Sequence[str] = (),
        connect: bool = True,
        query: Mapping[str, str] | None = None,
        device_name: str = "Test device",
        **options: Any,
    ) -> None:
        self._gateway, self._token = gateway, token
        words = dict(query or {})
        if session_id is not None:
            words["session_id"] = session_id
        target = "/ws/chat" + ("?" + urlencode(words) if words else "")
        headers = {
            **({"Authorization": f"Bearer {token}"} if token else {}),
            **options.pop("headers", {}),
        }
        self.capabilities: Sequence[str] = ()
        self.socket = WebSocket(gateway.public, target, headers, **options)
        try:
            self.session = self.expect("session_start")
            self.session_id: str = self.session["session_id"]
            if connect:
                self.connected = self.connect(device_name=device_name, capabilities=capabilities)
        except BaseException:
            self.socket.stream.close()
            raise

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()

    # Frames

    def send(self, kind: str, **fields: Any) -> None:
        self.socket.send_text(
            json.dumps({"type": kind, **fields}, ensure_ascii=False, separators=(",", ":"))
        )

    def receive(self, timeout: float | None = None) -> dict[str, Any]:
        frame = json.loads(self.socket.receive_text(timeout))
        check_frame(frame, self.capabilities)
        return frame

    def expect(self, kind: str, timeout: float | None = None) -> dict[str, Any]:
        """The next frame, which has to be of that type."""
        frame = self.receive(timeout)
        assert frame["type"] == kind, f"{kind} was due, got {frame!r}"
        return frame

    def expect_error(self, code: str) -> dict[str, Any]:
        frame = self.expect("error")
        assert frame["code"] == code, f"{code} was due, got {frame!r}"
        return frame

    def fence(self) -> list[dict[str, Any]]:
        """The frames that were on their way to us: all up to the answer of a `get_registered_tools`
        sent now."""
        self.send("get_registered_tools")
        frames = []
        while (frame := self.receive())["type"] != "registered_tools":
            frames.append(frame)
        return frames

    def assert_silent(self) -> None:
        """Fails if the gateway had anything to say to us up to now."""
        frames = self.fence()
        assert not frames, f"nothing was due, got {frames!r}"

    # Steps

    def connect(self, capabilities: Sequence[str] = (), **fields: Any) -> dict[str, Any]:
        if capabilities:
            fields["capabilities"] = list(capabilities)
        self.send("connect", v=1, **fields)
        self.capabilities = capabilities
        return self.expect("connected")

    def register(self, *tools: Any, **fields: Any) -> dict[str, Any]:
        self.send("register_tools", tools=list(tools), **fields)
        return self.expect("tools_registered")

    def registered(self) -> list[dict[str, Any]]:
        self.send("get_registered_tools")
        return self.expect("registered_tools")["tools"]

    def registered_names(self) -> list[str]:
        return [element["name"] for element in self.registered()]

    def next_call(self, name: str | None = None, timeout: float | None = None) -> dict[str, Any]:
        request = self.expect("tool_call_request", timeout)
        assert name is None or request["name"] == name, f"a call of {name} was due, got {request!r}"
        return request

    def acknowledged(self, call_id: str) -> None:
        frame = self.expect("result_acknowledged")
        assert frame["id"] == call_id, f"the acknowledgement of {call_id} was due, got {frame!r}"

    def answer(self, request: Mapping[str, Any], output: Any, **fields: Any) -> None:
        """Sends a `tool_result` and waits for its acknowledgement."""
        self.send("tool_result", id=request["id"], output=output, **{"success": True, **fields})
        self.acknowledged(request["id"])

    def fail(self, request: Mapping[str, Any], error: str) -> None:
        """Sends a `tool_error` and waits for its acknowledgement."""
        self.send("tool_error", id=request["id"], error=error, success=False)
        self.acknowledged(request["id"])

    def upload(
        self,
        request: Mapping[str, Any],
        content: bytes,
        content_type: str = "image/jpeg",
        **options: Any,
    ) -> Response:
        """Uploads a large result for a call; `digest_of`, `token`, `call_id` and `headers` replace
        what is right."""
        digest = base64.b64encode(
            hashlib.sha256(options.get("digest_of", content)).digest()
        ).decode()
        headers = {
            "Content-Type": content_type,
            "Content-Digest": f"sha-256=:{digest}:",
            **options.get("headers", {}),
        }
        target = "/api/artifacts?" + urlencode({"call_id": options.get("call_id", request["id"])})
        return self._gateway.fetch(
            "POST", target, options.get("token", self._token), headers, content
        )

    def answer_uploaded(self, request: Mapping[str, Any], artifact: str) -> None:
        """Sends a `tool_result` that names an artifact, and waits for its acknowledgement."""
        self.send("tool_result", id=request["id"], artifact=artifact, success=True)
        self.acknowledged(request["id"])

    # By itself

    def serve(self, handlers: Mapping[str, Handler]) -> None:
        """Answers calls from here on, each in a thread of its own, until the connection ends."""
        threading.Thread(target=self._serve, args=(dict(handlers),), daemon=True).start()

    def _serve(self, handlers: dict[str, Handler]) -> None:
        sending = threading.Lock()

        def run(request: dict[str, Any]) -> None:
            try:
                reply = {
                    "type": "tool_result",
                    "id": request["id"],
                    "output": handlers[request["name"]](request["args"]),
                    "success": True,
                }
            except ToolFailure as failure:
                reply = {"type": "tool_error", "id": request["id"], "error": str(failure)}
            with sending, contextlib.suppress(Closed, OSError):
                self.socket.send_text(json.dumps(reply, ensure_ascii=False))

        with contextlib.suppress(Closed, OSError, ValueError):
            while True:
                try:
                    frame = self.receive(timeout=3600)
                except EndOfStream:
                    return
                if frame["type"] == "tool_call_request":
                    threading.Thread(target=run, args=(frame,), daemon=True).start()

    # Ends

    def close(self, code: int = 1000) -> Closed:
        """Says goodbye and waits for the answer."""
        return self.socket.close(code)

    def cut(self) -> None:
        """The link breaks: a reset, no close frame."""
        self.socket.reset()

    def drop(self) -> None:
        """Ends it in whatever state it is."""
        self.socket.stream.close()
