"""The messages of a tool host: what is read of a call, and what is answered.

Source: docs/protocols/rtp.md, sections 1 to 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .errors import ToolError
from .server import Reply
from .tools import Tool, json_text

__all__ = [
    "Outcome",
    "check_form",
    "check_values",
    "element_of",
    "failed",
    "refuse",
    "response",
    "seconds_of",
]

_LONGEST_MS = 120_000
_TEXTS = ("version", "call_id", "tool_name", "tenant_id", "idempotency_key")
_CONTEXT = ("agent_id", "session_id", "platform", "channel_id", "actor_id", "isolation_key")
_CONTEXT_MEMBERS = (*_CONTEXT, "trace_id", "request_origin")
_ORIGINS = ("agent_turn", "cron", "operator", "system")
_WIRE_CODES = {
    "UNAVAILABLE": "DEPENDENCY_UNAVAILABLE",
    "UNAUTHENTICATED": "UNAUTHORIZED",
    "AUTH_REQUIRED": "FORBIDDEN",
    "NOT_FOUND": "INVALID_ARGS",
}
_WIRE = set(
    "TOOL_NOT_FOUND INVALID_ARGS UNAUTHORIZED FORBIDDEN RATE_LIMITED DEPENDENCY_UNAVAILABLE "
    "TIMEOUT INTERNAL PAIRING_REQUIRED PAIRING_FAILED CONFLICT CANCELLED OUTCOME_UNKNOWN "
    "OVERSIZE TOOL_FAILED AMBIGUOUS_TOOL".split()
)
_NO_EFFECT = ("RATE_LIMITED", "DEPENDENCY_UNAVAILABLE")


@dataclass
class Outcome:
    """How a call ended: `text` are the members of the response that depend on it, as JSON."""

    status: str
    text: str
    duration_ms: int = 0


def element_of(tool: Tool) -> dict[str, Any]:
    """The tool as `GET /v1/tools` has it."""
    longest = min(round((tool.max_timeout or 120) * 1000), _LONGEST_MS)
    default = min(round((tool.timeout or 30) * 1000), longest)
    element: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters,
        "output_schema": tool.output_schema or {"type": "object"},
        "timeout_ms_default": default,
        "timeout_ms_max": longest,
        "idempotent": tool.idempotent is True,
        "side_effects": tool.read_only is not True,
    }
    if tool.title:
        element["title"] = tool.title
    if tool.max_concurrency:
        element["max_concurrency"] = tool.max_concurrency
    return element


def seconds_of(tool: Tool, body: dict[str, Any]) -> float:
    limits = element_of(tool)
    asked = body.get("timeout_ms", limits["timeout_ms_default"])
    return float(min(asked, limits["timeout_ms_max"])) / 1000


def check_form(body: dict[str, Any]) -> None:
    """Types and unknown members. Errors: ValueError."""
    known = {*_TEXTS, "args", "context", "timeout_ms"}
    context = body.get("context", {})
    if body.keys() - known:
        raise ValueError(f"unknown members: {', '.join(sorted(body.keys() - known))}")
    if not isinstance(context, dict) or context.keys() - set(_CONTEXT_MEMBERS):
        raise ValueError("context: an object with members that are known")
    texts = [body[name] for name in _TEXTS if name in body] + list(context.values())
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("a text is no string")
    timeout = body.get("timeout_ms", 1)
    if not isinstance(timeout, int) or isinstance(timeout, bool):
        raise ValueError("timeout_ms: must be an integer")
    if not isinstance(body.get("args", {}), dict):
        raise ValueError("args: must be an object")


def check_values(body: dict[str, Any]) -> None:
    """What is needed, and not blank. Errors: ToolError."""
    context = body.get("context", {})
    needed = [(name, body.get(name)) for name in ("version", "call_id", "tool_name", "tenant_id")]
    needed += [(f"context/{name}", context.get(name)) for name in ("agent_id", "session_id")]
    for name, value in needed:
        if not value or not value.strip():
            raise ToolError("INVALID_ARGS", f"/{name}: is needed and not blank")
    texts = [body[name] for name in _TEXTS if name in body] + list(context.values())
    if any(len(text.encode(errors="replace")) > 256 for text in texts):
        raise ToolError("INVALID_ARGS", "a text outside of args has at most 256 bytes")
    if body["version"] != "v1":
        raise ToolError("INVALID_ARGS", "/version: must be v1")
    if "args" not in body:
        raise ToolError("INVALID_ARGS", "/args: is needed")
    if not 1 <= body.get("timeout_ms", 1) <= _LONGEST_MS:
        raise ToolError("INVALID_ARGS", f"/timeout_ms: 1 to {_LONGEST_MS}")
    if context.get("request_origin", "system") not in _ORIGINS:
        raise ToolError("INVALID_ARGS", "/context/request_origin: is not known")


def failed(failure: ToolError, status: str = "", retryable: bool = False) -> Outcome:
    code = _WIRE_CODES.get(failure.code, failure.code)
    code = code if code in _WIRE else "INTERNAL"
    status = status or ("retryable_error" if code in _NO_EFFECT else "error")
    error: dict[str, Any] = {
        "code": code,
        "message": failure.message.encode(errors="replace").decode(),
        "retryable": retryable or status == "retryable_error",
    }
    if failure.details:
        error["details"] = failure.details
    return Outcome(status, f'"error":{json_text(error)}')


def response(body: dict[str, Any], outcome: Outcome) -> bytes:
    def text(name: str) -> str:
        value = body.get(name)
        return value.encode(errors="replace").decode() if isinstance(value, str) else ""

    head = {
        "version": "v1",
        "call_id": text("call_id"),
        "tool_name": text("tool_name"),
        "status": outcome.status,
        "duration_ms": outcome.duration_ms,
    }
    return f"{json_text(head)[:-1]},{outcome.text}}}".encode()


def refuse(path: str, status: int, message: str, code: str = "") -> Reply:
    """What HTTP refuses, in the form of the route."""
    code = code or {403: "FORBIDDEN", 503: "UNAVAILABLE"}.get(status, "INVALID_ARGS")
    if path == "/v1/tools/call":
        return Reply(status, response({}, failed(ToolError(code, message))))
    return Reply(status, json_text({"error": message, "code": code}).encode())
