"""Functions as tools: the decorator, what a tool is, and a running call as its function sees it."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import json
import logging
import re
import threading
import time
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_origin

from .docstrings import Docstring
from .errors import ToolError
from .shapes import Members, Shapes, hints_of, to_json

__all__ = ["Blob", "Caller", "Tool", "ToolCall", "Toolbox", "json_text"]

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_DESCRIPTION_BYTES = 8 << 10
_TRACEPARENT = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_log = logging.getLogger("crab")
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Caller:
    """Who asks: `principal` as the gateway proved it, `agent` as the caller says."""

    principal: str = ""
    agent: str = ""


@dataclass(frozen=True)
class Blob:
    """Bytes as a result, such as a picture: in memory, or a file of that path."""

    content: bytes | Path
    content_type: str = "application/octet-stream"

    def read(self) -> bytes:
        """Errors: OSError."""
        return self.content if isinstance(self.content, bytes) else self.content.read_bytes()


class ToolCall:
    """A running call; a tool's function gets it as its parameter with this type.

    All of it may be used from any thread.
    """

    def __init__(self, id: str, tool: str, args: dict[str, Any], caller: Caller) -> None:
        self.id, self.tool, self.args, self.caller = id, tool, args, caller
        self.deadline = float(
            "inf"
        )  #: when nobody waits any more, on the clock of time.monotonic()
        #: of the gateway's span (W3C Trace Context), as parent of spans of your own; "": none
        self.traceparent = ""
        self.logs: list[str] = []
        self._cancelled = threading.Event()
        self._work: asyncio.Future[Any] | None = None
        self._on_progress: Callable[[dict[str, Any]], None] = lambda news: None

    @property
    def cancelled(self) -> bool:
        """Nobody waits for the result any more: cancelled, or past its deadline."""
        return self._cancelled.is_set()

    @property
    def remaining(self) -> float:
        """Seconds until the deadline, at least 0."""
        return max(0.0, self.deadline - time.monotonic())

    def check(self) -> None:
        """Raises ToolError `CANCELLED` if nobody waits any more."""
        if self.cancelled:
            raise ToolError("CANCELLED", "nobody waits for this call any more")

    def wait(self, seconds: float) -> bool:
        """Sleeps in a function that is not async; ends early, with True, once cancelled."""
        return self._cancelled.wait(seconds)

    def progress(
        self,
        message: str | None = None,
        progress: float | None = None,
        total: float | None = None,
    ) -> None:
        """Tells the caller how far it is; passed on at most ten times a second."""
        news = {"message": message, "progress": progress, "total": total}
        self._on_progress({name: value for name, value in news.items() if value is not None})

    def log(self, line: str) -> None:
        """A line for the caller's `logs`, where the tool runs in a host."""
        if len(self.logs) < 1_000:
            self.logs.append(line[:4_096])

    def cancel(self) -> None:
        """Stops the function, as far as it lets itself be stopped; on the loop's thread."""
        self._cancelled.set()
        if isinstance(self._work, asyncio.Task):
            self._work.cancel()


@dataclass
class Tool:
    """A named operation with its schemas. `Toolbox.tool` makes it of a function."""

    name: str
    description: str
    parameters: dict[str, Any]
    function: Callable[..., Any]
    output_schema: dict[str, Any] | None = None
    title: str | None = None
    timeout: float | None = None  #: seconds, for callers that name none
    max_timeout: float | None = None
    max_concurrency: int | None = None
    interactive: bool | None = None  #: it asks the person at the device
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    members: Members | None = None  #: how arguments are read; None: as they come, in one dict
    call_parameter: str | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise TypeError(
                f"a tool's name is 1 to 128 of A-Z a-z 0-9 _ . -, not {self.name!r}; pass name=…"
            )
        size = len(self.description.encode())
        if not 0 < size <= _DESCRIPTION_BYTES:
            raise TypeError(
                f"tool {self.name}: a description of 1 to {_DESCRIPTION_BYTES} bytes is needed: "
                "a docstring, or description=…"
            )

    @property
    def annotations(self) -> dict[str, bool]:
        """What it claims about itself; a claim makes a gateway more careful, never less."""
        names = ("read_only", "destructive", "idempotent", "open_world")
        claims = {name: getattr(self, name) for name in names}
        return {name: claim for name, claim in claims.items() if claim is not None}

    def begin(self, call: ToolCall) -> asyncio.Future[Any]:
        """Starts the function: one that is async on this loop, any other on a thread of its own.
        The future ends when the function does, with what it returns or raises."""
        words: dict[str, Any] = {}
        if self.members is not None:
            words = self.members.read(call.args, "")
        elif self.call_parameter is None:
            words = dict(call.args)
        if self.call_parameter:
            words[self.call_parameter] = call
        if inspect.iscoroutinefunction(self.function):
            call._work = asyncio.get_running_loop().create_task(self.function(**words))
        else:
            call._work = _in_thread(functools.partial(self.function, **words), self.name)
        return call._work


def _in_thread(work: Callable[[], Any], name: str) -> asyncio.Future[Any]:
    """On a thread that does not keep the process alive: a function may never return."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: Any, failure: BaseException | None) -> None:
        if future.done():
            return
        if failure is None:
            future.set_result(value)
        elif isinstance(failure, Exception) and not isinstance(failure, StopIteration):
            future.set_exception(failure)
        else:  # SystemExit of a function ends the function, not the program
            future.set_exception(RuntimeError(f"the function ended with {failure!r}"))

    def run() -> None:
        value, failure = None, None
        try:
            value = context.run(work)
        except BaseException as raised:  # noqa: BLE001: told to whoever waits
            failure = raised
        try:
            loop.call_soon_threadsafe(settle, value, failure)
        except RuntimeError:
            _log.debug("tool %s ended after its event loop", name)

    threading.Thread(target=run, name=f"tool {name}", daemon=True).start()
    return future


def traceparent_of(value: object) -> str:
    """A `traceparent` of W3C Trace Context, version 00; "" for anything else."""
    return value if isinstance(value, str) and _TRACEPARENT.fullmatch(value) else ""


def failure_of(raised: BaseException, tool: str) -> ToolError:
    """What the caller of a tool reads: the text of foreign exceptions stays in this log."""
    if isinstance(raised, ToolError):
        return raised
    if isinstance(raised, asyncio.CancelledError):
        return ToolError("CANCELLED", "the tool stopped by itself")
    _log.error("tool %s failed", tool, exc_info=raised)
    return ToolError("INTERNAL", f"the tool failed with {type(raised).__name__}; its log says more")


def json_text(value: Any) -> str:
    """Compact JSON that every peer can read. Errors: ToolError `INTERNAL`."""
    try:
        text = json.dumps(
            to_json(value), ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
        text.encode()
    except (TypeError, ValueError, RecursionError) as bad:
        raise ToolError("INTERNAL", f"the tool's result is not JSON: {bad}") from None
    return text


@dataclass
class Toolbox:
    """The base of what offers tools."""

    tools: dict[str, Tool] = field(default_factory=dict)

    @typing.overload
    def tool(self, function: Function, /) -> Function:
        ...

    @typing.overload
    def tool(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        schema: dict[str, Any] | None = None,
        output_schema: dict[str, Any] | None = None,
        title: str | None = None,
        timeout: float | None = None,
        max_timeout: float | None = None,
        max_concurrency: int | None = None,
        interactive: bool | None = None,
        read_only: bool | None = None,
        destructive: bool | None = None,
        idempotent: bool | None = None,
        open_world: bool | None = None,
    ) -> Callable[[Function], Function]:
        ...

    def tool(self, function: Any = None, /, **options: Any) -> Any:
        """Offers a function as a tool; a decorator, with or without options.

        Name, description and schema come from the function's name, docstring and type hints. With
        `schema` arguments come as its keyword arguments, unread. A function that is not async runs
        on a thread of its own.
        Errors: TypeError for what no gateway accepts.
        """
        if function is None:
            return functools.partial(self.tool, **options)
        self.add(make_tool(function, **options))
        return function

    def add(self, tool: Tool) -> None:
        """Adds a tool or replaces the one of that name."""
        self.tools[tool.name] = tool
        self._tools_changed()

    def remove_tool(self, name: str) -> None:
        """Takes a tool away; calls that run finish."""
        if self.tools.pop(name, None):
            self._tools_changed()

    def _tools_changed(self) -> None:
        """For those that have to tell somebody."""


def make_tool(function: Callable[..., Any], **options: Any) -> Tool:
    """The tool of a function; `options` are those of `Toolbox.tool`."""
    name = options.pop("name", None) or getattr(function, "__name__", "")
    schema = options.pop("schema", None)
    doc = Docstring.of(function)
    description = options.pop("description", None) or doc.text
    target = function
    if not inspect.isroutine(target) and callable(target):  # an object with __call__
        target = type(target).__call__
    hints = hints_of(target)
    shapes, members, call_parameter = Shapes(), Members(), None
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name, Any)
        if hint is ToolCall:
            call_parameter = parameter.name
        elif schema is None:
            _add_parameter(members, shapes, parameter, hint)
    members.describe(doc.parameters)
    if options.get("output_schema") is None:
        options["output_schema"] = _output_schema(hints.get("return"))
    if schema is not None:
        return Tool(name, description, schema, function, call_parameter=call_parameter, **options)
    parameters = shapes.with_definitions(members.schema())
    return Tool(
        name,
        description,
        parameters,
        function,
        members=members,
        call_parameter=call_parameter,
        **options,
    )


def _add_parameter(
    members: Members, shapes: Shapes, parameter: inspect.Parameter, hint: Any
) -> None:
    if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
        raise TypeError(f"parameter {parameter.name}: arguments of a tool have names")
    shape = shapes.of(hint)
    if parameter.kind is parameter.VAR_KEYWORD:
        members.others = shape
        return
    required = parameter.default is parameter.empty
    members.add(parameter.name, shape, required, parameter.default)


def _output_schema(hint: Any) -> dict[str, Any] | None:
    """Of results that are objects by their type; others have no schema at a gateway."""
    base = get_origin(hint) or hint
    is_object = isinstance(base, type) and (
        hasattr(base, "__dataclass_fields__") or typing.is_typeddict(base)
    )
    if not is_object or base is Blob:
        return None
    shapes = Shapes()
    try:
        return shapes.with_definitions({"type": "object", **shapes.of(hint).schema})
    except TypeError:
        return None
