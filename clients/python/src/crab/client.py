"""A caller: tools of a gateway over HTTP, or over its admin socket.

    async with ToolClient("http://127.0.0.1:42617", token_file="token") as crab:
        print((await crab.call("disk_usage", {"path": "/"})).value)

Source: docs/protocols/rtp.md, sections 2 to 4.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any
from urllib.parse import quote

from .address import Address, Token
from .errors import CallFailed, GatewayError
from .http import Exchange, HttpClient, HttpFailure, Response

__all__ = ["CallResult", "Explanation", "Frame", "Progress", "ToolClient", "ToolInfo"]

_LONGEST_TIMEOUT = 120.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
_PATIENCE = 5.0  # beyond a call's own timeout, so that the gateway's answer wins
_USUAL_TIMEOUT = 125.0  # where the call names none: the tool's is at most two minutes


@dataclass(frozen=True)
class ToolInfo:
    """A tool as the gateway lists it to this caller; times are in seconds."""

    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    timeout: float
    max_timeout: float
    idempotent: bool
    side_effects: bool

    @staticmethod
    def read(element: Mapping[str, Any]) -> ToolInfo:
        return ToolInfo(
            name=str(element["name"]),
            description=str(element.get("description", "")),
            input_schema=dict(element.get("input_schema", {})),
            output_schema=dict(element.get("output_schema", {})),
            timeout=element.get("timeout_ms_default", 30_000) / 1000,
            max_timeout=element.get("timeout_ms_max", 120_000) / 1000,
            idempotent=element.get("idempotent") is True,
            side_effects=element.get("side_effects") is not False,
        )


@dataclass(frozen=True)
class CallResult:
    """A call that succeeded; `replayed`: the stored outcome of an earlier call with this key."""

    call_id: str
    result: dict[str, Any]
    duration: float
    logs: list[str] = field(default_factory=list)
    replayed: bool = False

    @property
    def value(self) -> Any:
        """What the tool returned: text and values that are no object come wrapped."""
        if len(self.result) == 1:
            for wrapper in ("text", "value"):
                if wrapper in self.result:
                    return self.result[wrapper]
        return self.result


@dataclass(frozen=True)
class Progress:
    """How far a call is, as its tool says."""

    message: str = ""
    progress: float | None = None
    total: float | None = None


@dataclass(frozen=True)
class Frame:
    """A part of a streamed result, as the gateway sends it."""

    data: dict[str, Any]


@dataclass(frozen=True)
class Explanation:
    """What a policy says; `steps` are its rules, `then` what an allowed call meets next."""

    verdict: str  #: `allow`, `deny` or `needs_approval`
    rule: str
    steps: list[dict[str, Any]]
    then: list[dict[str, Any]]


class ToolClient:
    """Calls tools of the gateway at `https://host:port`, `http://127.0.0.1:port`, or, without a
    token, `unix:/path` of its admin socket. Any number of calls at once, on one event loop.

    A call that got no answer, or one that says that nothing was done, is repeated under the same
    id and key, `retries` times at most: the gateway runs it once.
    """

    def __init__(
        self,
        gateway: str,
        *,
        token: str | None = None,
        token_file: str | os.PathLike[str] | None = None,
        ca_file: str | os.PathLike[str] | None = None,
        agent: str = "python",
        session: str = "python",
        tenant: str = "default",
        retries: int = 2,
        connect_timeout: float = 5.0,
        max_reply_bytes: int = 64 << 20,
        allow_plain: bool = False,
    ) -> None:
        """`agent`, `session` and `tenant` are what calls say they are for.
        Errors: ValueError, OSError for a file that cannot be read."""
        address = Address.parse(gateway, allow_plain=allow_plain)
        self._token = Token(token, token_file)
        self._context = {"agent_id": agent, "session_id": session}
        self._tenant, self._retries = tenant, retries
        self._http = HttpClient(
            address,
            address.context(ca_file),
            connect_timeout=connect_timeout,
            max_body=max_reply_bytes,
        )
        self._is_admin = bool(address.socket)

    async def __aenter__(self) -> ToolClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections; calls that run fail."""
        await self._http.close()

    async def tools(self) -> list[ToolInfo]:
        """What this caller may call, sorted by name. Errors: GatewayError."""
        answer = await self._ask("GET", "/v1/tools")
        elements = answer.get("tools")
        if not isinstance(elements, list):
            raise GatewayError("the gateway's list of tools cannot be read", retryable=False)
        try:
            return [ToolInfo.read(element) for element in elements]
        except (KeyError, TypeError, AttributeError):
            raise GatewayError(
                "the gateway's list of tools cannot be read", retryable=False
            ) from None

    async def call(
        self,
        tool: str,
        args: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        idempotency_key: str | None = None,
        call_id: str | None = None,
        away_wait: float = 0,
        context: Mapping[str, str] | None = None,
    ) -> CallResult:
        """Runs a tool; `timeout` in seconds, at most 120, default the tool's own.

        `idempotency_key` makes repeats by this program, also in a later process, run once; without
        one the id of the call does so for the repeats of this method. `away_wait`: so many seconds
        for a device that is away. Leaving this coroutine does not stop the call: cancel() does.
        Errors: CallFailed, GatewayError.
        """
        request = self._request(tool, args, timeout, idempotency_key, call_id, context)
        headers = {"Crab-Away-Wait-Ms": str(round(away_wait * 1000))} if away_wait > 0 else {}
        end = _now() + (timeout + _PATIENCE if timeout else _USUAL_TIMEOUT) + away_wait
        attempt, closes, may_have_run = 0, self._http.closes, False
        while True:
            try:
                return await self._attempt(request, headers, end)
            except CallFailed as failed:
                wait = self._pause(failed, attempt)
                if wait is None or _now() + wait >= end:
                    raise
            except _Unanswered as failed:
                may_have_run |= failed.told.may_have_run
                wait = self._pause(failed, attempt)
                if wait is None or _now() + wait >= end or self._http.closes != closes:
                    raise failed.after(may_have_run) from None
            attempt += 1
            await asyncio.sleep(wait)

    async def stream(
        self,
        tool: str,
        args: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        idempotency_key: str | None = None,
        call_id: str | None = None,
        context: Mapping[str, str] | None = None,
    ) -> AsyncIterator[Progress | Frame | CallResult]:
        """A call whose progress comes as it is made; the last is the CallResult.

        Leaving the loop early cancels the call; use contextlib.aclosing() for that to happen at
        once. It is not repeated. Errors: CallFailed, GatewayError.
        """
        request = self._request(tool, args, timeout, idempotency_key, call_id, context)
        end = _now() + (timeout + _PATIENCE if timeout else _USUAL_TIMEOUT)
        headers = {"Accept": "text/event-stream"}
        body = json.dumps(request, ensure_ascii=False, allow_nan=False).encode()
        try:
            async with asyncio.timeout_at(end):
                exchange = await self._open("POST", "/v1/tools/call", headers, body)
        except (HttpFailure, asyncio.TimeoutError) as failed:
            raise _no_answer(failed).told from None
        try:
            if "text/event-stream" not in exchange.headers.get("content-type", ""):
                async with asyncio.timeout_at(end):
                    whole = Response(exchange.status, exchange.headers, await exchange.read())
                yield _whole_result(request, whole)
                return
            events = read_events(exchange.pieces())
            while True:
                async with asyncio.timeout_at(end):
                    kind, text = await anext(events)
                message = _object_of(text)
                if kind == "result":
                    whole = Response(200, exchange.headers, text.encode())
                    yield _whole_result(request, whole)
                    return
                if kind == "progress":
                    yield _progress_of(message)
                elif kind == "frame":
                    yield Frame(message)
        except StopAsyncIteration:
            raise _no_answer(HttpFailure("the stream ended without a result", True)).told from None
        except (HttpFailure, asyncio.TimeoutError) as failed:
            raise _no_answer(failed, sent=True).told from None
        finally:
            await exchange.__aexit__(None, None, None)

    async def cancel(self, call_id: str, reason: str = "cancelled") -> str:
        """Cancels a call of this caller: `cancelling`, `finished` or `not_found`."""
        body = {"version": "v1", "tenant_id": self._tenant, "call_id": call_id, "reason": reason}
        return str((await self._ask("POST", "/v1/tools/cancel", body)).get("status", ""))

    async def artifact(self, href: str) -> bytes:
        """The bytes of a large result: the `href` in `{"artifact": {"href", …}}`."""
        if not href.startswith("/v1/artifacts/"):
            raise ValueError(f"{href!r} is no artifact")
        return (await self._exchange("GET", href, None)).body

    async def explain(
        self,
        tool: str,
        principal: str,
        args: Mapping[str, Any] | None = None,
        *,
        tenant: str | None = None,
    ) -> Explanation:
        """May this principal, such as `caller/ci`, call that tool, and which rule says so? Over
        the admin socket only; nothing is called. Errors: GatewayError."""
        question: dict[str, Any] = {"as": principal, "question": f"call {tool}"}
        if args is not None:
            question["args"] = dict(args)
        if tenant is not None:
            question["tenant"] = tenant
        answer = await self._ask_admin("POST", "/v1/admin/policy/explain", question)
        return Explanation(
            str(answer.get("verdict")),
            str(answer.get("rule")),
            list(answer.get("steps", [])),
            list(answer.get("then", [])),
        )

    async def record(self, call_id: str) -> dict[str, Any]:
        """What the gateway knows of a call afterwards: when, for whom, by which rule, with what
        outcome. Over the admin socket only. Errors: GatewayError."""
        return await self._ask_admin("GET", f"/v1/admin/calls/{quote(call_id, safe='')}")

    def _request(
        self,
        tool: str,
        args: Mapping[str, Any] | None,
        timeout: float | None,
        key: str | None,
        call_id: str | None,
        context: Mapping[str, str] | None,
    ) -> dict[str, Any]:
        call_id = call_id or str(uuid.uuid4())
        request: dict[str, Any] = {
            "version": "v1",
            "call_id": call_id,
            "tool_name": tool,
            "tenant_id": self._tenant,
            "args": dict(args or {}),
            # a key is kept over restarts of the gateway, which an id alone need not be
            "idempotency_key": key or call_id,
            "context": {**self._context, **(context or {})},
        }
        if timeout is not None:
            if not 0 < timeout <= _LONGEST_TIMEOUT:
                raise ValueError(f"a timeout is above 0 and at most {_LONGEST_TIMEOUT:g} seconds")
            request["timeout_ms"] = max(1, round(timeout * 1000))
        return request

    async def _attempt(
        self, request: dict[str, Any], headers: dict[str, str], end: float
    ) -> CallResult:
        body = json.dumps(request, ensure_ascii=False, allow_nan=False).encode()
        try:
            async with asyncio.timeout_at(end):
                response = await self._fetch("POST", "/v1/tools/call", headers, body)
        except (HttpFailure, asyncio.TimeoutError) as failed:
            raise _no_answer(failed) from None
        return _result_of(request, response)

    def _pause(self, failed: CallFailed | _Unanswered, attempt: int) -> float | None:
        """How long to wait before the next attempt; None: there is none."""
        if attempt >= self._retries:
            return None
        wait = random.uniform(0, min(_FIRST_PAUSE * 2**attempt, _LONGEST_PAUSE))
        if isinstance(failed, _Unanswered):
            return max(wait, failed.told.retry_after) if failed.repeatable else None
        if not failed.retryable or failed.status == "timeout":
            return None
        asked = failed.details.get("retry_after_ms")
        return max(wait, asked / 1000) if isinstance(asked, (int, float)) else wait

    async def _open(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> Exchange:
        """The one place that sends requests. The token's file is read again when the gateway
        refuses what was sent, and the request sent once more if there is another token."""
        sent = self._token.number
        exchange = self._http.stream(method, path, {**self._headers(), **headers}, body)
        await exchange.__aenter__()
        if exchange.status != 401 or not self._token.renew(sent):
            return exchange
        await exchange.__aexit__(None, None, None)
        exchange = self._http.stream(method, path, {**self._headers(), **headers}, body)
        return await exchange.__aenter__()

    async def _fetch(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> Response:
        exchange = await self._open(method, path, headers, body)
        try:
            return Response(exchange.status, exchange.headers, await exchange.read())
        finally:
            await exchange.__aexit__(None, None, None)

    def _headers(self) -> dict[str, str]:
        return {"Content-Type": "application/json", **self._token.headers()}

    async def _ask_admin(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        if not self._is_admin:
            raise ValueError("this needs the admin socket: ToolClient('unix:/path/admin.sock')")
        return await self._ask(method, path, body)

    async def _ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        return _object_of((await self._exchange(method, path, body)).body)

    async def _exchange(self, method: str, path: str, body: Any) -> Response:
        data = b"" if body is None else json.dumps(body, ensure_ascii=False).encode()
        try:
            async with asyncio.timeout(30):
                response = await self._fetch(method, path, {}, data)
        except (HttpFailure, asyncio.TimeoutError) as failed:
            raise _no_answer(failed).after(False) from None
        if response.status != 200:
            raise _refusal(response)
        return response


def _now() -> float:
    return asyncio.get_running_loop().time()


class _Unanswered(Exception):
    """A call without an answer of the protocol. `repeatable`: under the same id, which runs once;
    what the program is told is about a new call."""

    def __init__(self, told: GatewayError, repeatable: bool) -> None:
        super().__init__(str(told))
        self.told, self.repeatable = told, repeatable

    def after(self, may_have_run: bool) -> GatewayError:
        """For the program, once there is no other attempt."""
        told = self.told
        return GatewayError(
            told.message,
            status=told.status,
            code=told.code,
            retryable=self.repeatable,
            retry_after=told.retry_after,
            may_have_run=may_have_run,
        )


def _no_answer(failed: BaseException, *, sent: bool = False) -> _Unanswered:
    message = str(failed) or "the gateway did not answer in time"
    sent = sent or not isinstance(failed, HttpFailure) or failed.sent
    repeatable = isinstance(failed, HttpFailure) and not failed.final
    return _Unanswered(GatewayError(message, retryable=repeatable, may_have_run=sent), repeatable)


def _refusal(response: Response) -> GatewayError:
    """An answer that is no 200."""
    body = response.members()
    error = body.get("error")
    code, message = body.get("code", ""), error
    if isinstance(error, dict):  # of a call
        code, message = error.get("code", ""), error.get("message", "")
    if not isinstance(message, str) or not message:
        message = f"the gateway answers {response.status}"
    asked = response.headers.get("retry-after", "")
    return GatewayError(
        message,
        status=response.status,
        code=str(code),
        retryable=response.status in (408, 429, 502, 503),
        retry_after=min(int(asked), 3600) if asked.isascii() and asked.isdigit() else 0,
    )


def _object_of(data: bytes | str) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise GatewayError("the gateway's answer is not a JSON object", retryable=False)
    return value


def _whole_result(request: dict[str, Any], response: Response) -> CallResult:
    """Errors: CallFailed, GatewayError."""
    try:
        return _result_of(request, response)
    except _Unanswered as failed:
        raise failed.told from None


def _result_of(request: dict[str, Any], response: Response) -> CallResult:
    """Errors: CallFailed, _Unanswered for what is no answer to this request."""
    if response.status != 200:
        refused = _refusal(response)
        # a gateway's own refusals come before the call; those of a proxy may come after it
        sent = response.status >= 500 and response.status != 503
        raise _Unanswered(_with_effect(refused, sent), refused.retryable)
    try:
        body = _object_of(response.body)
    except GatewayError as broken:
        raise _Unanswered(_with_effect(broken, True), False) from None
    if body.get("call_id") != request["call_id"] or body.get("version") != "v1":
        raise _unreadable("the gateway's answer is about another call")
    status, duration = body.get("status"), body.get("duration_ms")
    if status == "ok" and isinstance(body.get("result"), dict):
        logs = body.get("logs", [])
        return CallResult(
            request["call_id"],
            body["result"],
            duration / 1000 if isinstance(duration, (int, float)) else 0.0,
            [str(line) for line in logs] if isinstance(logs, list) else [],
            response.headers.get("crab-replayed") == "true",
        )
    if status not in ("error", "retryable_error", "timeout"):
        raise _unreadable("the gateway's answer breaks its protocol")
    error = body.get("error")
    raise CallFailed(request["call_id"], status, error if isinstance(error, dict) else {})


def _unreadable(message: str) -> _Unanswered:
    return _Unanswered(GatewayError(message, retryable=False, may_have_run=True), False)


def _with_effect(failed: GatewayError, may_have_run: bool) -> GatewayError:
    return _Unanswered(failed, failed.retryable).after(may_have_run)


def _progress_of(message: Mapping[str, Any]) -> Progress:
    def number(name: str) -> float | None:
        value = message.get(name)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return float(value) if is_number and value is not None else None

    return Progress(str(message.get("message", "")), number("progress"), number("total"))


async def read_events(
    pieces: AsyncIterator[bytes], most: int = 64 << 20
) -> AsyncIterator[tuple[str, str]]:
    """Server-sent events: kind and data. Errors: HttpFailure for one above `most` bytes."""
    kind, lines, size = "message", list[str](), 0
    async for raw in _lines_of(pieces, most):
        line = raw.removesuffix(b"\r").decode("utf-8", errors="replace")
        size += len(raw)
        if size > most:
            raise HttpFailure("an event of the stream is too large", sent=True, final=True)
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if line and name == "event":
            kind = value
        elif line and name == "data":
            lines.append(value)
        elif not line:
            if lines:
                yield kind, "\n".join(lines)
            kind, lines, size = "message", [], 0


async def _lines_of(pieces: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
    parts, size = list[bytes](), 0
    async for piece in pieces:
        first, *others = piece.split(b"\n")
        parts.append(first)
        size += len(first)
        if size > most:
            raise HttpFailure("a line of the stream is too long", sent=True, final=True)
        for other in others:
            yield b"".join(parts)
            parts, size = [other], len(other)
