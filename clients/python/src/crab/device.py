"""A device: functions of this program as tools of a gateway, into which it dials.

    device = Device("http://127.0.0.1:42617", name="Kitchen", token_file="token")

    @device.tool(read_only=True)
    def read_thermometer(room: Literal["kitchen", "cellar"]) -> dict[str, float]:
        \"\"\"Room temperature in Celsius.\"\"\"
        return {"celsius": 21.5 if room == "kitchen" else 12}

    device.run()

Source: docs/protocols/clawseed.md, sections 2 to 4, 7, 9 and 10.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import random
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from .address import Address, Token, TokenRefused
from .backoff import Backoff
from .device_key import KeyToken
from .errors import ToolError
from .http import HttpClient, HttpFailure
from .link import DialFailed, DialRefused, Link
from .outbox import Outbox, SeenCalls
from .runner import LoopWatch, Runner
from .tools import (
    Blob,
    Caller,
    Tool,
    ToolCall,
    Toolbox,
    failure_of,
    json_text,
    traceparent_of,
)
from .upload import UploadTerms, inline, upload

__all__ = ["Device", "DeviceEnd", "DeviceEvent"]

_CAPABILITIES = [
    "register_tools.replace",
    "unregister_tools",
    "tools_registered.rejected",
    "tool_call_request.deadline_ms",
    "tool_call_request.caller",
    "tool_call_request.traceparent",
    "tool_call_cancel",
    "tool_call_accepted",
    "tool_call_progress",
    "tool_call_resume",
    "artifacts",
    "presence",
]
_GATHER = 0.1  # changes of the list of tools
_USUAL_TIMEOUT = 30.0  # of a request that names no deadline
_SEND_AGAIN, _SEND_AGAIN_AT_MOST = 5.0, 60.0  # replies without an acknowledgement
_KEEP_FOR_RESUME = 600.0
_PROGRESS_PAUSE = 0.1
_MOST_WAITING = 256  # frames that the socket has not taken, above which progress is dropped
_MESSAGE_BYTES = 64 << 20  # of one from the gateway, which decides what it sends
_TOKEN_EXPIRED = 4401
_log = logging.getLogger("crab.device")


@dataclass(frozen=True)
class DeviceEnd:
    """Why a device ended: `stopped` by stop(), `closed_by_gateway` with code 1000, `refused`
    because its token is not valid (any more)."""

    reason: str
    message: str


@dataclass(frozen=True)
class DeviceEvent:
    """What a device reports: `connecting`, `connected`, `lost`, `notice`, `ended`."""

    kind: str
    message: str = ""
    tools: int = 0  #: `connected`: registered now
    rejected: list[dict[str, Any]] = field(default_factory=list)
    retry_in: float = 0.0  #: `lost`: seconds


@dataclass
class _Terms:
    """What this connection's gateway speaks and allows."""

    capabilities: frozenset[str] = frozenset()
    max_message_bytes: int = 8 << 20
    grace: float = 15.0
    uploads: UploadTerms | None = None

    @staticmethod
    def read(frame: dict[str, Any]) -> _Terms:
        listed = frame.get("capabilities")
        names = listed if isinstance(listed, list) else []
        terms = _Terms(frozenset(name for name in names if isinstance(name, str)))
        terms.max_message_bytes = int(_number(frame, "max_message_bytes", 8 << 20))
        terms.grace = _number(frame, "grace_ms", 15_000) / 1000
        terms.uploads = UploadTerms.read(frame.get("artifacts"))
        return terms


class Device(Toolbox):
    """Offers the functions that `tool` decorates, answers calls, and reconnects when the link
    breaks. Functions that are not async run on threads, `parallel` at a time, `queued` wait."""

    def __init__(
        self,
        gateway: str,
        *,
        name: str,
        token: str | None = None,
        token_file: str | os.PathLike[str] | None = None,
        key_file: str | os.PathLike[str] | None = None,
        ca_file: str | os.PathLike[str] | None = None,
        on_event: Callable[[DeviceEvent], None] | None = None,
        parallel: int = 8,
        queued: int = 64,
        allow_plain: bool = False,
    ) -> None:
        """`gateway` is `https://host:port`, `http://127.0.0.1:port`, or `unix:/path` of the admin
        socket, without a token. `key_file` of pair_key() takes the place of a token.
        Errors: ValueError, OSError for files that cannot be read."""
        super().__init__()
        self.name = name
        self._address = Address.parse(gateway, allow_plain=allow_plain)
        self._token = _credential(token, token_file, key_file, bool(self._address.socket))
        self._tls = self._address.context(ca_file)
        self._on_event = on_event
        self._parallel, self._most_calls = parallel, parallel + queued
        self._instance = uuid.uuid4().hex
        self._outbox, self._seen = Outbox(), SeenCalls()
        self._calls: dict[str, asyncio.Task[None]] = {}
        self._terms, self._terms_known = _Terms(), False
        self._session_id, self._announced = "", False
        self._sent_token = 0  # the number of that of the last dial
        self._presence: dict[str, Any] = {}
        self._outgoing: asyncio.Queue[str] | None = None  # while a link is open
        self._wake: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()  # this and the next belong to the loop of serve()
        self._runner = Runner(parallel)
        self._http = HttpClient(self._address, self._tls)

    # For the program

    def run(self) -> DeviceEnd:
        """Serves until the gateway closes or refuses the connection, or stop(); ends with SIGINT
        and SIGTERM too, where this is the main thread."""
        return asyncio.run(self._serve_with_signals())

    async def serve(self) -> DeviceEnd:
        """As run(), on the running loop. Cancelling it says goodbye to the gateway."""
        if self._loop is not None:
            raise RuntimeError("this device serves already")
        self._loop = asyncio.get_running_loop()
        self._stopping, self._runner = asyncio.Event(), Runner(self._parallel)
        watch = asyncio.create_task(LoopWatch(self._runner).watch())
        try:
            end = await self._serve()
        finally:
            watch.cancel()
            self._cancel_all()
            await self._http.close()
            self._loop = None
        self._tell(DeviceEvent("ended", end.message))
        return end

    def stop(self) -> None:
        """Ends serve() and cancels the calls that run; from any thread."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # it has just ended
                loop.call_soon_threadsafe(self._stopping.set)

    def set_presence(
        self,
        *,
        battery: float | None = None,
        charging: bool | None = None,
        metered: bool | None = None,
        foreground: bool | None = None,
    ) -> None:
        """Reports this device's state, for callers that choose a device; replaces the report
        before. From any thread."""
        said = {
            "battery": battery,
            "charging": charging,
            "metered": metered,
            "foreground": foreground,
        }
        self._presence = {name: value for name, value in said.items() if value is not None}
        self._on_loop(self._send_presence)

    # Links

    async def _serve_with_signals(self) -> DeviceEnd:
        loop = asyncio.get_running_loop()
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, self.stop)
        return await self.serve()

    async def _serve(self) -> DeviceEnd:
        backoff = Backoff(random.random)
        while True:
            self._tell(DeviceEvent("connecting"))
            dialing = asyncio.ensure_future(self._dial())
            stopping = asyncio.ensure_future(self._stopping.wait())
            try:
                await asyncio.wait({dialing, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if self._stopping.is_set():
                    return DeviceEnd("stopped", "stopped")
                link = dialing.result()
            except DialRefused as refused:
                end = self._refused(refused)
                if end:
                    return end
                why, at_least = str(refused), refused.retry_after
            except DialFailed as failed:
                why, at_least = str(failed), 0.0
            else:
                opened = time.monotonic()
                code, reason = await self._use(link, stopping)
                if self._stopping.is_set():
                    return DeviceEnd("stopped", "stopped")
                if code == 1000:
                    return DeviceEnd("closed_by_gateway", reason or "the gateway said goodbye")
                backoff.link_lasted(time.monotonic() - opened)
                why, at_least = f"the link ended with {code} {reason}".strip(), 0.0
                if code == _TOKEN_EXPIRED and not self._token.renew(self._sent_token):
                    return DeviceEnd("refused", "the token is not valid any more; pair again")
            finally:
                await _end_tasks(stopping)
                await _hang_up(dialing)
            wait = max(backoff.next(), at_least)
            self._tell(DeviceEvent("lost", why, retry_in=wait))
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), wait)
                return DeviceEnd("stopped", "stopped")

    async def _dial(self) -> Link:
        path = "/ws/chat"
        if self._session_id:
            path += f"?session_id={quote(self._session_id, safe='')}"
        try:
            await self._token.ready(self._http)
        except TokenRefused:
            raise DialRefused(401, 0.0) from None
        except HttpFailure as failed:
            raise DialFailed(str(failed)) from None
        self._sent_token = self._token.number
        return await Link.dial(
            self._address, path, self._token.headers(), self._tls, _MESSAGE_BYTES
        )

    def _refused(self, refused: DialRefused) -> DeviceEnd | None:
        """None: try again."""
        if refused.status not in (401, 403) or self._token.renew(self._sent_token):
            return None
        return DeviceEnd(
            "refused",
            f"the gateway refuses this device ({refused.status}); pair it again",
        )

    async def _use(self, link: Link, stopping: asyncio.Future[Any]) -> tuple[int, str]:
        """Serves one link until it ends; code and reason of its end."""
        self._outgoing = asyncio.Queue()
        # The last link's terms hold until this gateway has said its own: calls that run, and
        # replies that are kept, go by them. Frames that it may not know wait; see _speaks().
        self._terms_known, self._announced = False, False
        self._greet()
        tasks = [
            asyncio.create_task(self._write(link, self._outgoing), name="device writer"),
            asyncio.create_task(self._read(link), name="device reader"),
            asyncio.create_task(self._send_again(), name="device repeats"),
        ]
        try:
            await asyncio.wait({tasks[0], tasks[1], stopping}, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()  # what must not happen is not passed over
        finally:
            self._outgoing = None
            if self._wake:
                self._wake.cancel()
                self._wake = None
            self._outbox.link_broke(self._keep_until())
            await _end_tasks(*tasks)
        return link.end

    def _greet(self) -> None:
        connect: dict[str, Any] = {
            "type": "connect",
            "v": 1,
            "device_name": self.name,
            "instance": self._instance,
            "capabilities": _CAPABILITIES,
        }
        if self._session_id:
            connect["session_id"] = self._session_id
        self._send(connect)
        self._send({"type": "register_tools", "tools": self._elements()})
        for frame in self._outbox.link_opened(time.monotonic()):
            self._send_text(frame)

    async def _write(self, link: Link, outgoing: asyncio.Queue[str]) -> None:
        while True:
            text = await outgoing.get()
            try:
                await link.send(text)
            except ConnectionError:
                return

    async def _read(self, link: Link) -> None:
        async for text in link.texts():
            try:
                frame = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if isinstance(frame, dict):
                self._on_frame(frame)

    async def _send_again(self) -> None:
        """A reply that is not acknowledged in time may have been lost on a live link."""
        pause = _SEND_AGAIN
        while True:
            await asyncio.sleep(pause)
            frames = self._outbox.sent_before(time.monotonic() - _SEND_AGAIN)
            if not frames or not self._resumes():
                pause = _SEND_AGAIN
                continue
            for frame in frames:
                self._send_text(frame)
            pause = min(2 * pause, _SEND_AGAIN_AT_MOST)

    # Frames

    def _on_frame(self, frame: dict[str, Any]) -> None:
        kind = frame.get("type")
        if kind == "session_start":
            self._session_id = _text(frame, "session_id")
        elif kind == "connected":
            self._terms, self._terms_known = _Terms.read(frame), True
            self._send_presence()
        elif kind == "tools_registered":
            self._on_registered(frame)
        elif kind == "tool_call_request":
            self._on_request(frame)
        elif kind == "tool_call_cancel":
            task = self._calls.pop(_text(frame, "id"), None)
            if task:
                task.cancel()
        elif kind == "result_acknowledged":
            self._outbox.acknowledge(_text(frame, "id"))
        elif kind == "error":
            self._tell(DeviceEvent("notice", f"{_text(frame, 'code')}: {_text(frame, 'message')}"))

    def _on_registered(self, frame: dict[str, Any]) -> None:
        listed = frame.get("rejected")
        rejected = [it for it in listed if isinstance(it, dict)] if isinstance(listed, list) else []
        for it in rejected:
            said = f"{_text(it, 'name')}: {_text(it, 'code')}: {_text(it, 'message')}"
            self._tell(DeviceEvent("notice", said))
        if not self._announced:
            self._announced = True
            count = int(_number(frame, "registered", 0))
            self._tell(DeviceEvent("connected", tools=count, rejected=rejected))

    def _on_request(self, frame: dict[str, Any]) -> None:
        call_id, name = _text(frame, "id"), _text(frame, "name")
        if not call_id:
            return
        # One run and one reply per request, however often the gateway sends it.
        kept = self._outbox.find(call_id)
        if call_id in self._calls:
            self._accept(call_id)
        elif kept is not None and self._resumes():
            self._send_text(kept)
        if kept is not None or call_id in self._seen:
            return
        tool = self.tools.get(name)
        if tool is None:
            gone = f"this device has no tool {name!r} any more; list the tools again"
            self._fail(call_id, ToolError("TOOL_NOT_FOUND", gone))
            return
        self._seen.add(call_id)
        self._accept(call_id)
        if len(self._calls) >= self._most_calls:
            busy = "this device is busy with other calls; try again in a moment"
            self._fail(call_id, ToolError("RATE_LIMITED", busy))
            return
        args = frame.get("args")
        asked = frame.get("caller")
        caller = Caller()
        if isinstance(asked, dict):
            caller = Caller(_text(asked, "principal"), _text(asked, "agent"))
        call = ToolCall(call_id, name, args if isinstance(args, dict) else {}, caller)
        call.traceparent = traceparent_of(frame.get("traceparent"))
        seconds = _number(frame, "deadline_ms", _USUAL_TIMEOUT * 1000) / 1000
        call.deadline = time.monotonic() + seconds
        task = asyncio.create_task(self._run_call(tool, call, seconds), name=f"call {call_id}")
        self._calls[call_id] = task
        task.add_done_callback(lambda done: self._forget(call_id, done))

    def _forget(self, call_id: str, task: asyncio.Task[None]) -> None:
        if self._calls.get(call_id) is task:
            del self._calls[call_id]
        if not task.cancelled() and task.exception():
            _log.error("call %s", call_id, exc_info=task.exception())

    async def _run_call(self, tool: Tool, call: ToolCall, seconds: float) -> None:
        """Runs it and replies once; not at all if it is cancelled."""
        call._on_progress = self._progress_of(call)
        patience = asyncio.timeout(seconds)
        try:
            async with patience:
                value = await self._runner.run(tool, call)
                frame = await self._pack(call, value)
        except (Exception, asyncio.CancelledError) as raised:
            if _is_cancelled(raised):
                call.cancel()
                raise
            if patience.expired():
                late = ToolError("TIMEOUT", "the tool did not end before the deadline")
                self._fail(call.id, late)
            else:
                self._fail(call.id, failure_of(raised, tool.name))
            return
        self._reply(call.id, frame)

    async def _pack(self, call: ToolCall, value: Any) -> str:
        """The reply as text; what is too large for a message is uploaded before."""
        terms = self._terms.uploads
        blob: Blob | None = None
        output = ""
        if isinstance(value, Blob):
            blob = value
        else:
            text = "" if value is None else value
            output = json_text(text)
            size = len((text if isinstance(text, str) else output).encode())
            if terms and size > terms.inline_bytes:
                kind = "text/plain;charset=utf-8" if isinstance(text, str) else "application/json"
                blob = Blob((text if isinstance(text, str) else output).encode(), kind)
        reply: dict[str, Any] = {"type": "tool_result", "id": call.id, "success": True}
        if blob is not None and terms:
            reply["artifact"] = await upload(
                self._http, self._token, terms, call.id, blob, call.deadline
            )
        elif blob is not None:
            output = json_text(await asyncio.to_thread(inline, blob))
        if "artifact" in reply:
            return json_text(reply)
        return json_text(reply)[:-1] + ',"output":' + output + "}"

    def _progress_of(self, call: ToolCall) -> Callable[[dict[str, Any]], None]:
        """At most ten a second of a call; from any thread."""
        last = 0.0

        def report(news: dict[str, Any]) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last < _PROGRESS_PAUSE:
                return
            last = now
            text = json_text({"type": "tool_call_progress", "id": call.id, **news})
            self._on_loop(self._send_progress, call.id, text)

        return report

    def _send_progress(self, call_id: str, text: str) -> None:
        if (
            self._speaks("tool_call_progress")
            and call_id in self._calls
            and self._outgoing is not None
        ):
            if self._outgoing.qsize() < _MOST_WAITING:
                self._send_text(text)

    def _fail(self, call_id: str, failure: ToolError) -> None:
        said = f"{failure.code}: {failure.message}".encode(errors="replace").decode()
        reply = {"type": "tool_error", "id": call_id, "error": said, "success": False}
        self._reply(call_id, json_text(reply))

    def _reply(self, call_id: str, frame: str) -> None:
        size = len(frame.encode())
        if size > self._terms.max_message_bytes:  # it would close the link, again and again
            said = f"the result takes {size} bytes, and {self._terms.max_message_bytes} are allowed"
            frame = json_text(
                {
                    "type": "tool_error",
                    "id": call_id,
                    "error": f"OVERSIZE: {said}; ask for less",
                    "success": False,
                }
            )
        is_open = self._outgoing is not None
        self._outbox.add(call_id, frame, None if is_open else self._keep_until())
        self._send_text(frame)

    def _accept(self, call_id: str) -> None:
        if self._speaks("tool_call_accepted"):
            self._send({"type": "tool_call_accepted", "id": call_id})

    def _keep_until(self) -> float:
        """Until when a reply that cannot be sent now is worth keeping."""
        grace = self._terms.grace
        return time.monotonic() + (max(grace, _KEEP_FOR_RESUME) if self._resumes() else grace)

    def _speaks(self, capability: str) -> bool:
        """On this link; false before the gateway has said so."""
        return self._terms_known and capability in self._terms.capabilities

    def _resumes(self) -> bool:
        return "tool_call_resume" in self._terms.capabilities

    # Tools

    def _elements(self) -> list[dict[str, Any]]:
        return [element_of(tool) for tool in self.tools.values()]

    def _tools_changed(self) -> None:
        self._on_loop(self._gather_changes)

    def _gather_changes(self) -> None:
        if self._outgoing is None or self._wake or self._loop is None:
            return
        self._wake = self._loop.call_later(_GATHER, self._send_tools)

    def _send_tools(self) -> None:
        self._wake = None
        if not self._terms_known:  # whether lists can be replaced comes with `connected`
            self._gather_changes()
            return
        frame: dict[str, Any] = {"type": "register_tools", "tools": self._elements()}
        if self._speaks("register_tools.replace"):
            frame["replace"] = True
        self._send(frame)

    def _send_presence(self) -> None:
        if self._presence and self._speaks("presence"):
            self._send({"type": "presence", **self._presence})

    def _send(self, frame: dict[str, Any]) -> None:
        self._send_text(json_text(frame))

    def _send_text(self, text: str) -> None:
        if self._outgoing is not None:
            self._outgoing.put_nowait(text)

    def _on_loop(self, work: Callable[..., None], *words: Any) -> None:
        """Does nothing while this device does not serve."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(work, *words)

    def _cancel_all(self) -> None:
        for task in list(self._calls.values()):
            task.cancel()

    def _tell(self, event: DeviceEvent) -> None:
        _log.info("%s %s", event.kind, event.message)
        if self._on_event:
            try:
                self._on_event(event)
            except Exception:  # of the program: its trouble, not that of the calls
                _log.exception("on_event failed")


def _credential(
    token: str | None,
    token_file: str | os.PathLike[str] | None,
    key_file: str | os.PathLike[str] | None,
    may_be_none: bool,
) -> Token | KeyToken:
    """Errors: those of Device()."""
    if key_file is not None:
        if token is not None or token_file is not None:
            raise ValueError("either a token or key_file")
        return KeyToken(key_file)
    found = Token(token, token_file)
    if not may_be_none and not found.value():
        raise ValueError("a device needs token, token_file or key_file; see pair()")
    return found


def element_of(tool: Tool) -> dict[str, Any]:
    """The tool as `register_tools` has it."""
    element: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    optional = {
        "timeout_ms": tool.timeout and round(tool.timeout * 1000),
        "max_timeout_ms": tool.max_timeout and round(tool.max_timeout * 1000),
        "max_concurrency": tool.max_concurrency,
        "output_schema": tool.output_schema,
        "interactive": tool.interactive,
        "annotations": tool.annotations or None,
    }
    return element | {name: value for name, value in optional.items() if value is not None}


async def _hang_up(dialing: asyncio.Future[Link]) -> None:
    """Says goodbye on the link that this attempt has or may still get; no more than that if it is
    closed already."""
    await _end_tasks(dialing)
    if not dialing.cancelled() and dialing.exception() is None:
        with contextlib.suppress(Exception):
            await dialing.result().close(1000, "goodbye")


async def _end_tasks(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _is_cancelled(raised: BaseException) -> bool:
    """The call was cancelled, not its function by itself."""
    task = asyncio.current_task()
    return isinstance(raised, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def _text(frame: dict[str, Any], member: str) -> str:
    value = frame.get(member)
    return value if isinstance(value, str) else ""


def _number(frame: dict[str, Any], member: str, default: float) -> float:
    value = frame.get(member)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and value is not None and 0 < value < 2**53 else default
