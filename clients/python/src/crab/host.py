"""A tool host: functions of this program as tools that the gateway of this machine calls.

    host = ToolHost("dice")

    @host.tool(read_only=True)
    def roll(sides: Annotated[int, {"minimum": 2}]) -> dict[str, int]:
        \"\"\"Rolls a die.\"\"\"
        return {"number": random.randint(1, sides)}

    host.run_unix("/run/user/1000/dice.sock")

Source: docs/protocols/rtp.md, sections 1 to 3.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import json
import logging
import os
import signal
import socket
import sqlite3
import stat
import threading
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .early_cancels import EarlyCancels
from .errors import ToolError
from .host_store import CallKey, StoreThread
from .host_wire import (
    Outcome,
    check_form,
    check_values,
    element_of,
    failed,
    refuse,
    response,
    seconds_of,
)
from .remote import Remote
from .runner import LoopWatch, Runner
from .server import HttpServer, Reply, Request, strict_json
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
from .upload import inline

__all__ = ["ToolHost"]

_PARALLEL, _QUEUED, _REPEATS = 64, 256, 64
_REPLY_BYTES = 8 << 20
_KEPT_SECONDS, _KEPT_BYTES, _KEPT_MOST = 600.0, 64 << 20, 16_384
_ENTRY_BYTES = 1 << 10  # of an entry beside its result, roughly
_PRINCIPAL_CHARS = 128  # of Crab-Principal; 32 are sent
_STOP_SECONDS = 10.0
_log = logging.getLogger("crab.host")
_KEY_TAKEN = "another call has this key; choose a new one"


@dataclass
class _Entry:
    """One call under its key, and whoever waits for it."""

    key: CallKey
    content: bytes
    call: ToolCall
    tool: Tool
    ended: asyncio.Future[Outcome]
    begun: float = field(default_factory=time.monotonic)
    stamp: float = field(default_factory=time.time)  #: of its record on disk
    looked_up: asyncio.Event = field(default_factory=asyncio.Event)
    early: bool = False  #: it was cancelled before it came
    replayed: bool = False  #: an earlier process ran it
    waiting: int = 0
    kept: Outcome | None = None  #: what repeats get; None after an end that is not certain
    news: list[asyncio.Queue[dict[str, Any]]] = field(default_factory=list)
    cancelled: bool = False
    work: asyncio.Future[Any] | None = None

    @property
    def repeatable(self) -> bool:
        return self.tool.read_only is True or self.tool.idempotent is True

    @property
    def size(self) -> int:
        return _ENTRY_BYTES + (len(self.kept.text) if self.kept else 0)

    def let_go(self) -> None:
        """Of an ended call only what repeats and cancels ask for is kept: not its arguments."""
        call = self.call
        self.call, self.work = ToolCall(call.id, call.tool, {}, Caller()), None
        self.call.deadline = call.deadline


class ToolHost(Toolbox):
    """Offers the functions that `tool` decorates on a Unix socket. Arguments are read before they
    run; a call runs once under its key; the answer leaves at the deadline or at a cancel, whatever
    the function does."""

    def __init__(self, service: str, *, state_dir: str | os.PathLike[str] | None = None) -> None:
        """With `state_dir` keys of calls with effects are kept for a day and over crashes, without
        one for ten minutes and while the process lives. No two hosts share a folder."""
        super().__init__()
        self.service = service
        self._state_dir = state_dir
        self._store: StoreThread | None = None
        self._runner = Runner(_PARALLEL)
        self._entries: dict[CallKey, _Entry] = {}
        self._ended: dict[CallKey, int] = {}  # their sizes, the first that ended first
        self._ended_bytes = 0
        self._early = EarlyCancels()
        self._stopping: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._work: set[asyncio.Task[None]] = set()
        self.port = 0  #: of serve_tls(), while it serves

    def run_unix(self, path: str | os.PathLike[str], *, mode: int = 0o600) -> None:
        """Serves until stop(), SIGINT or SIGTERM. Errors: OSError, also for a path at which
        somebody else listens."""
        self._until_stopped(self.serve_unix(path, mode=mode))

    async def serve_unix(self, path: str | os.PathLike[str], *, mode: int = 0o600) -> None:
        """As run_unix(), on the running loop."""
        server = HttpServer(self._handle, refuse)
        listener = _listen(Path(path), mode)
        try:
            start = functools.partial(
                asyncio.start_unix_server, server.serve, sock=listener, limit=64 << 10
            )
            await self._serve(server, start, self._state_dir)
        finally:
            listener.close()
            Path(path).unlink(missing_ok=True)

    def run_tls(
        self, host: str, port: int, *, component_id: str, gateway_key: str, state_dir: str
    ) -> None:
        """Serves the gateway that pairs with it (`crab peers pair tool wss://…`), until stop(),
        SIGINT or SIGTERM; prints `remote_key=`. Needs the command `openssl`, and Linux.
        `gateway_key` is what `crab peers identity` prints.
        Errors: ValueError, OSError."""
        self._until_stopped(
            self.serve_tls(
                host, port, component_id=component_id, gateway_key=gateway_key, state_dir=state_dir
            )
        )

    async def serve_tls(
        self, host: str, port: int, *, component_id: str, gateway_key: str, state_dir: str
    ) -> None:
        """As run_tls(), on the running loop."""
        remote = await asyncio.to_thread(
            Remote, Path(state_dir) / "pairing", component_id, gateway_key
        )

        async def admit(path: str, writer: asyncio.StreamWriter) -> Reply | None:
            denied = await remote.admit(path, writer.get_extra_info("peercert"))
            return refuse(path, denied[0], denied[2], denied[1]) if denied else None

        server = HttpServer(self._handle, refuse, admit, remote.pair)
        print(f"remote_key={remote.key}", flush=True)
        start = functools.partial(
            asyncio.start_server,
            server.serve,
            host,
            port,
            ssl=remote.context,
            ssl_handshake_timeout=5,
            limit=64 << 10,
        )
        await self._serve(server, start, state_dir)

    def _until_stopped(self, serving: Coroutine[Any, Any, None]) -> None:
        async def whole() -> None:
            if threading.current_thread() is threading.main_thread():
                for number in (signal.SIGINT, signal.SIGTERM):
                    asyncio.get_running_loop().add_signal_handler(number, self.stop)
            await serving

        asyncio.run(whole())

    async def _serve(
        self,
        server: HttpServer,
        start: Callable[[], Awaitable[asyncio.Server]],
        state_dir: str | os.PathLike[str] | None,
    ) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        self._runner = Runner(_PARALLEL)
        try:
            if state_dir is not None:
                store = StoreThread(state_dir)
                await store.open()
                self._store = store
            listening = await start()
        except BaseException:
            await self._close_store()
            self._loop = None
            raise
        name = listening.sockets[0].getsockname()
        if isinstance(name, tuple):
            self.port = int(name[1])
        watch = asyncio.create_task(LoopWatch(self._runner).watch())
        try:
            await self._stopping.wait()
            if self._work:
                await asyncio.wait(self._work, timeout=_STOP_SECONDS)
        finally:
            self._stopping.set()
            watch.cancel()
            listening.close()
            for entry in self._entries.values():
                entry.call.cancel()
            for task in list(self._work):
                task.cancel()
            await asyncio.gather(*self._work, return_exceptions=True)
            await server.end()
            await self._close_store()
            self._loop = None

    async def _close_store(self) -> None:
        store, self._store = self._store, None
        if store:
            await store.close()

    def stop(self) -> None:
        """Ends it, after what runs, ten seconds at most; from any thread."""
        loop, stopping = self._loop, self._stopping
        if loop and stopping:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(stopping.set)

    # Requests

    async def _handle(self, request: Request) -> Reply:
        routes = {
            "/healthz": "GET",
            "/v1/tools": "GET",
            "/v1/tools/call": "POST",
            "/v1/tools/cancel": "POST",
        }
        method = routes.get(request.path)
        if method is None:
            return refuse(request.path, 404, "there is no such route")
        if request.method == "OPTIONS":
            return Reply(204, headers={"Allow": method})
        if request.method != method:
            reply = refuse(request.path, 405, f"use {method}")
            reply.headers["Allow"] = method
            return reply
        stopping = self._stopping is not None and self._stopping.is_set()
        if request.path == "/healthz":
            return Reply(503 if stopping else 200, json_text({"ok": not stopping}).encode())
        if request.path == "/v1/tools":
            elements = [element_of(self.tools[name]) for name in sorted(self.tools)]
            if self._store:
                for element in elements:
                    element["accepts_idempotency_key"] = element["side_effects"]
            listed = {"version": "v1", "service": self.service, "keeps_callers_apart": True}
            listed["tools"] = elements
            return Reply(200, json_text(listed).encode())
        whose = request.headers.get("crab-principal", "")[:_PRINCIPAL_CHARS]
        try:
            body = strict_json(request.body)
            if not isinstance(body, dict):
                raise ValueError("the body is one JSON object")
            if request.path == "/v1/tools/cancel":
                return self._cancel(body, whose)
            check_form(body)
        except ValueError as bad:
            return refuse(request.path, 400, str(bad))
        if stopping:
            failure = ToolError("UNAVAILABLE", "this host is stopping")
            return Reply(503, response(body, failed(failure)))
        return await self._call(body, whose, request.headers)

    async def _call(self, body: dict[str, Any], whose: str, fields: dict[str, str]) -> Reply:
        try:
            check_values(body)
            tool = self.tools.get(body["tool_name"])
            if tool is None:
                gone = f"there is no tool {body['tool_name']!r}; list the tools"
                raise ToolError("TOOL_NOT_FOUND", gone)
            if tool.members is not None:
                tool.members.read(body["args"], "")
            seconds = seconds_of(tool, body)
            trace = traceparent_of(fields.get("traceparent"))
            whose = await self._recorded_for(body, whose, seconds)
            entry, joined = await self._enter(body, whose, tool, seconds, trace)
        except ToolError as refused:
            return Reply(200, response(body, failed(refused)))
        if "text/event-stream" in fields.get("accept", ""):
            headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
            return Reply(200, headers=headers, events=self._events(body, entry, seconds))
        outcome = await self._wait(entry, seconds)
        headers = {"Crab-Replayed": "true"} if joined or entry.replayed else {}
        return Reply(200, response(body, outcome), headers)

    async def _recorded_for(self, body: dict[str, Any], whose: str, seconds: float) -> str:
        """The principal under which this call is known: none if it is on disk from before the
        gateway said whose its calls are, so that none runs again. Errors: ToolError."""
        if not whose or not self._store or _key_of(body, whose) in self._entries:
            return whose
        try:
            async with asyncio.timeout(seconds):
                return "" if await self._store.find(_key_of(body, "")) else whose
        except (sqlite3.Error, asyncio.TimeoutError):
            _log.exception("calls cannot be looked up, so one does not run")
            raise ToolError("UNAVAILABLE", "this host cannot look up calls now") from None

    async def _enter(
        self, body: dict[str, Any], whose: str, tool: Tool, seconds: float, trace: str
    ) -> tuple[_Entry, bool]:
        """The entry of this call, which runs, or the one that it repeats. Errors: ToolError."""
        self._forget_old()
        context = body["context"]
        key = _key_of(body, whose)
        said = [tool.name, body["args"], context["agent_id"], context.get("isolation_key", "")]
        content = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).digest()
        known = await self._known(key, content, seconds)
        if known and not known.ended.done():
            if known.waiting > _REPEATS:
                raise ToolError("RATE_LIMITED", "too many repeats of this call wait already")
            return known, True
        if known and known.kept:
            return known, True
        if known and tool.read_only is not True and tool.idempotent is not True:
            raise _unknown()
        if len(self._work) >= _PARALLEL + _QUEUED:
            raise ToolError("RATE_LIMITED", "too many calls wait already", {"retry_after_ms": 500})
        caller = Caller("", context["agent_id"])
        call = ToolCall(body["call_id"], tool.name, body["args"], caller)
        call.deadline, call.traceparent = time.monotonic() + seconds, trace
        ended: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        entry = _Entry(key, content, call, tool, ended)
        entry.early = self._early.take(whose, body["tenant_id"], body["call_id"])
        self._forget(key)  # an ended call that runs again
        self._entries[key] = entry
        self._spawn(self._run(entry), f"call {call.id}")
        return entry, False

    async def _known(self, key: CallKey, content: bytes, seconds: float) -> _Entry | None:
        """The entry under this key in memory. Errors: ToolError."""
        try:
            async with asyncio.timeout(seconds):
                while (known := self._entries.get(key)) and known.content != content:
                    if known.looked_up.is_set():
                        raise ToolError("CONFLICT", _KEY_TAKEN)
                    await known.looked_up.wait()  # the record on disk decides which one is right
        except asyncio.TimeoutError:
            raise ToolError("UNAVAILABLE", "this host cannot look up calls now") from None
        return known

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def _recall(self, entry: _Entry) -> Outcome | None:
        """The answer that stands already; nothing: the call runs, and its record says so."""
        found = None
        try:
            async with asyncio.timeout(entry.call.deadline - time.monotonic()):
                if self._store and (entry.early or entry.tool.read_only is True):
                    found = await self._store.find(entry.key)
                elif self._store:
                    found = await self._store.admit(
                        entry.key, entry.content, entry.stamp, entry.repeatable
                    )
        except (sqlite3.Error, asyncio.TimeoutError):
            _log.exception("a call cannot be recorded, so it does not run")
            return failed(ToolError("UNAVAILABLE", "this host cannot record calls now"))
        except asyncio.CancelledError:
            return failed(ToolError("UNAVAILABLE", "this host is stopping"))
        if found and found.content != entry.content:
            return failed(ToolError("CONFLICT", _KEY_TAKEN))
        if found and found.text:
            entry.replayed = True
            entry.kept = Outcome(found.status, found.text, found.duration_ms)
            return entry.kept
        if found and not entry.repeatable:
            return failed(_unknown())
        if entry.early:
            return failed(ToolError("CANCELLED", "this call was cancelled before it came"))
        return None

    async def _record(self, entry: _Entry) -> None:
        """How it ended; without that a repeat after a crash is OUTCOME_UNKNOWN."""
        kept = entry.kept
        if self._store and kept and entry.tool.read_only is not True:
            try:
                await self._store.end(entry.key, kept.status, kept.text, kept.duration_ms)
            except sqlite3.Error:
                _log.exception("the end of call %s cannot be recorded", entry.call.id)

    async def _run(self, entry: _Entry) -> None:
        """Ends the entry with what is known of an earlier run, or by running the tool."""
        call = entry.call
        outcome: Outcome | None = None
        try:
            if not entry.cancelled:  # before the first step
                outcome = await self._recall(entry)
            entry.looked_up.set()
            if outcome is None and not entry.cancelled:
                outcome = await self._execute(entry)
                await self._record(entry)
        finally:
            if outcome and not entry.ended.done():
                entry.ended.set_result(outcome)
            if call._work is None or call._work.done():
                entry.let_go()
            self._remember(entry)
        # what had no effect runs when it is repeated; so does what was cancelled in line
        had_none = call._work is None or outcome and outcome.status == "retryable_error"
        if had_none and not entry.kept:
            await self._drop(entry)

    async def _execute(self, entry: _Entry) -> Outcome:
        call, tool = entry.call, entry.tool
        loop = asyncio.get_running_loop()

        def report(news: dict[str, Any]) -> None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_spread, entry, news)

        call._on_progress = report
        patience = asyncio.timeout(call.deadline - time.monotonic())
        work = entry.work = asyncio.ensure_future(self._runner.run(tool, call))
        outcome: Outcome
        try:
            async with patience:
                outcome = self._succeeded(entry, await work)
            entry.kept = outcome
        except (Exception, asyncio.CancelledError) as raised:
            if patience.expired() and call._work is None:
                busy = ToolError("RATE_LIMITED", "no place was free in time; try again later")
                busy.details = {"retry_after_ms": 500}
                outcome = failed(busy)
            elif patience.expired():
                late = ToolError("TIMEOUT", "the tool did not end before the deadline")
                outcome = failed(late, "timeout", entry.repeatable)
            elif entry.cancelled or call.cancelled:
                outcome = failed(ToolError("CANCELLED", "the call was cancelled"))
            else:
                outcome = failed(failure_of(raised, tool.name))
                entry.kept = outcome if outcome.status == "error" else None
            self._keep_late(entry)
        outcome.duration_ms = round((time.monotonic() - entry.begun) * 1000)
        return outcome

    def _keep_late(self, entry: _Entry) -> None:
        """What a function returns after its call was cut off serves repeats."""
        work = entry.call._work
        if work is None or work.done() or entry.kept:
            return

        def keep(done: asyncio.Future[Any]) -> None:
            if not done.cancelled() and done.exception() is None:
                with contextlib.suppress(ToolError):
                    entry.kept = self._succeeded(entry, done.result())
                    self._spawn(self._record(entry), f"record {entry.call.id}")
            entry.let_go()
            self._remember(entry)

        work.add_done_callback(keep)

    def _succeeded(self, entry: _Entry, value: Any) -> Outcome:
        if isinstance(value, Blob):
            value = inline(value)
        if value is None:
            value = {}
        text = json_text(value)
        if not text.startswith("{"):
            text = json_text({"text" if isinstance(value, str) else "value": value})
        tool = entry.tool
        if tool.read_only is not True and tool.output_schema is None:
            found = json.loads(text)
            found.setdefault("operation_id", _uuid7())
            text = json_text(found)
        if len(text.encode()) > _REPLY_BYTES:
            raise ToolError("OVERSIZE", f"the result has more than {_REPLY_BYTES} bytes")
        logs = f',"logs":{json_text(entry.call.logs)}' if entry.call.logs else ""
        return Outcome("ok", f'"result":{text}{logs}')

    async def _wait(self, entry: _Entry, seconds: float) -> Outcome:
        """The outcome, or `timeout` of who repeats with less patience."""
        if entry.ended.done():
            return entry.kept or entry.ended.result()
        entry.waiting += 1
        try:
            async with asyncio.timeout(seconds + 0.05):
                return await asyncio.shield(entry.ended)
        except asyncio.TimeoutError:
            return failed(ToolError("TIMEOUT", "the call still runs"), "timeout", False)
        finally:
            entry.waiting -= 1

    async def _events(
        self, body: dict[str, Any], entry: _Entry, seconds: float
    ) -> AsyncIterator[bytes]:
        news: asyncio.Queue[dict[str, Any]] = asyncio.Queue(256)
        entry.news.append(news)
        waiting = asyncio.ensure_future(self._wait(entry, seconds))
        getting: asyncio.Future[dict[str, Any]] | None = None
        try:
            while True:
                getting = getting or asyncio.ensure_future(news.get())
                either: set[asyncio.Future[Any]] = {waiting, getting}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                if getting.done():
                    yield f"event: progress\ndata: {json_text(getting.result())}\n\n".encode()
                    getting = None
                    continue
                yield b"event: result\ndata: " + response(body, waiting.result()) + b"\n\n"
                return
        finally:
            entry.news.remove(news)
            for task in (waiting, getting):
                if task:
                    task.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            if not entry.ended.done() and entry.waiting == 0:  # the last one has left
                self._cut(entry)

    def _cancel(self, body: dict[str, Any], whose: str) -> Reply:
        """Reaches the calls of the same principal only. Errors: ValueError."""
        if body.get("version") != "v1" or not all(
            isinstance(body.get(name), str) and body[name] for name in ("tenant_id", "call_id")
        ):
            raise ValueError("version v1, tenant_id and call_id are needed")
        tenant, call_id = body["tenant_id"], body["call_id"]
        status = "not_found"
        for (of, _, caller), entry in self._entries.items():
            if (of, caller) == (tenant, whose) and entry.call.id == call_id:
                status = "finished" if entry.ended.done() else "cancelling"
                if status == "cancelling":
                    self._cut(entry)
                break
        else:
            self._early.remember(whose, tenant, call_id)
        answer = {"version": "v1", "call_id": call_id, "status": status}
        return Reply(200, json_text(answer).encode())

    def _cut(self, entry: _Entry) -> None:
        """Ends it as CANCELLED at once, whatever its function does."""
        entry.cancelled = True
        outcome = failed(ToolError("CANCELLED", "the call was cancelled"))
        outcome.duration_ms = round((time.monotonic() - entry.begun) * 1000)
        entry.ended.set_result(outcome)
        entry.call.cancel()
        if entry.work:
            entry.work.cancel()  # it may still wait for its place

    async def _drop(self, entry: _Entry) -> None:
        if self._entries.get(entry.key) is entry:
            self._forget(entry.key)
        if self._store and entry.tool.read_only is not True:
            with contextlib.suppress(sqlite3.Error):  # then a repeat is OUTCOME_UNKNOWN
                await self._store.drop(entry.key, entry.stamp)

    def _remember(self, entry: _Entry) -> None:
        """Counts an entry that has ended, unless it was dropped."""
        if self._entries.get(entry.key) is entry:
            self._ended_bytes += entry.size - self._ended.get(entry.key, 0)
            self._ended[entry.key] = entry.size
            self._forget_old()

    def _forget(self, key: CallKey) -> None:
        self._entries.pop(key, None)
        self._ended_bytes -= self._ended.pop(key, 0)

    def _forget_old(self) -> None:
        """Looks only at those that ended first, so that a call costs the same among many."""
        now = time.monotonic()
        while self._ended:
            key = next(iter(self._ended))
            is_old = now - self._entries[key].call.deadline > _KEPT_SECONDS
            if not is_old and len(self._ended) <= _KEPT_MOST and self._ended_bytes <= _KEPT_BYTES:
                return
            self._forget(key)


def _key_of(body: dict[str, Any], whose: str) -> CallKey:
    return body["tenant_id"], body.get("idempotency_key") or body["call_id"], whose


def _unknown() -> ToolError:
    return ToolError(
        "OUTCOME_UNKNOWN", "this call was cut off before; look whether it had its effect"
    )


def _spread(entry: _Entry, news: dict[str, Any]) -> None:
    for queue in entry.news:
        with contextlib.suppress(asyncio.QueueFull):
            queue.put_nowait(news)


def _listen(path: Path, mode: int) -> socket.socket:
    """Replaces a socket's file only if nobody answers there."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.stat().st_mode):
            raise FileExistsError(f"{path} is there and no socket")
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(1)
            if probe.connect_ex(str(path)) == 0:
                raise FileExistsError(f"somebody listens at {path} already")
        path.unlink()
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o777 & ~mode)
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)
    return listener


def _uuid7() -> str:
    stamp = time.time_ns() // 1_000_000
    number = stamp << 80 | uuid.uuid4().int & ((1 << 80) - 1)
    number = number & ~(0xF << 76) | 7 << 76
    number = number & ~(3 << 62) | 2 << 62
    return str(uuid.UUID(int=number))
