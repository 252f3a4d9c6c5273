"""Requests and responses of /v1/tools*: docs/protocols/rtp.md, section 2, as code."""

from __future__ import annotations

import re
import uuid
from typing import Any

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_CODES = {
    "TOOL_NOT_FOUND",
    "INVALID_ARGS",
    "UNAUTHORIZED",
    "FORBIDDEN",
    "RATE_LIMITED",
    "DEPENDENCY_UNAVAILABLE",
    "TIMEOUT",
    "INTERNAL",
    "PAIRING_REQUIRED",
    "PAIRING_FAILED",
    "CONFLICT",
    "CANCELLED",
    "OUTCOME_UNKNOWN",
    "AMBIGUOUS_TOOL",
    "TOOL_FAILED",
    "OVERSIZE",
}


def call_request(tool: str, args: Any = None, **members: Any) -> dict[str, Any]:
    """A valid request; `members` replace or add, a member given as `...` is left out."""
    request = {
        "version": "v1",
        "call_id": str(uuid.uuid4()),
        "tool_name": tool,
        "tenant_id": "default",
        "args": {} if args is None else args,
        "context": {"agent_id": "tests", "session_id": "tests"},
        **members,
    }
    return {name: value for name, value in request.items() if value is not ...}


def envelope(event_type: str = "channel.message.received", **members: Any) -> dict[str, Any]:
    """A valid event of the operator's (section 6); a member given as `...` is left out."""
    made = {
        "version": "v1",
        "event_id": str(uuid.uuid4()),
        "trace_id": "t",
        "tenant_id": "default",
        "occurred_at": "2026-02-13T16:00:00Z",
        "event_type": event_type,
        "source": {"component_type": "operator", "component_id": "tests"},
        "routing": {"agent_id": "a", "session_id": "s"},
        "payload": {"text": "hello"},
        **members,
    }
    return {name: value for name, value in made.items() if value is not ...}


def check_response(body: Any, request: dict[str, Any] | None = None) -> None:
    """Fails unless `body` has the response schema to the letter, and the names of `request` if one
    is given."""
    assert isinstance(body, dict), f"not an object: {body!r}"
    extra = body.keys() - {
        "version",
        "call_id",
        "tool_name",
        "status",
        "duration_ms",
        "result",
        "error",
        "logs",
    }
    assert not extra, f"members that the schema does not know: {extra}"
    assert body.get("version") == "v1", f"version: {body!r}"
    assert isinstance(body.get("call_id"), str) and isinstance(
        body.get("tool_name"), str
    ), f"call_id, tool_name: {body!r}"
    assert body.get("status") in ("ok", "error", "retryable_error", "timeout"), f"status: {body!r}"
    duration = body.get("duration_ms")
    assert (
        isinstance(duration, int) and not isinstance(duration, bool) and duration >= 0
    ), f"duration_ms: {body!r}"
    assert ("result" in body) == (body["status"] == "ok"), f"result exactly when ok: {body!r}"
    assert ("error" in body) == (body["status"] != "ok"), f"error exactly when not ok: {body!r}"
    if "result" in body:
        assert isinstance(body["result"], dict), f"result: {body!r}"
    if "logs" in body:
        assert isinstance(body["logs"], list) and all(
            isinstance(line, str) for line in body["logs"]
        ), f"logs: {body!r}"
    if "error" in body:
        _check_error(body["error"], body["status"])
    if request is not None:
        assert body["call_id"] == request["call_id"], f"another call_id: {body!r}"
        assert body["tool_name"] == request["tool_name"], f"another tool_name: {body!r}"


def _check_error(error: Any, status: str) -> None:
    assert isinstance(error, dict) and not error.keys() - {
        "code",
        "message",
        "details",
        "retryable",
    }, f"error: {error!r}"
    assert error.get("code") in _CODES, f"error.code: {error!r}"
    assert isinstance(error.get("message"), str) and error["message"], f"error.message: {error!r}"
    assert isinstance(error.get("retryable"), bool), f"error.retryable: {error!r}"
    assert isinstance(error.get("details", {}), dict), f"error.details: {error!r}"
    assert (
        status != "retryable_error" or error["retryable"]
    ), f"retryable_error that is not retryable: {error!r}"
    assert status != "error" or not error["retryable"], f"status error that is retryable: {error!r}"


def check_discovery(body: Any) -> None:
    """Fails unless `body` is a discovery document."""
    assert (
        isinstance(body, dict)
        and body.get("version") == "v1"
        and isinstance(body.get("service"), str)
    ), f"head: {body!r}"
    tools = body.get("tools")
    assert isinstance(tools, list), f"tools: {body!r}"
    names = [tool["name"] for tool in tools]
    assert names == sorted(set(names)), f"sorted and unique: {names!r}"
    for tool in tools:
        assert _NAME.fullmatch(tool["name"]), f"name: {tool!r}"
        assert isinstance(tool.get("description"), str), f"description: {tool!r}"
        assert isinstance(tool.get("input_schema"), dict) and isinstance(
            tool.get("output_schema"), dict
        ), f"schemas: {tool!r}"
        default, longest = tool.get("timeout_ms_default"), tool.get("timeout_ms_max")
        assert (
            isinstance(default, int)
            and isinstance(longest, int)
            and 1 <= default <= longest <= 120_000
        ), f"timeouts: {tool!r}"
        assert isinstance(tool.get("idempotent"), bool) and isinstance(
            tool.get("side_effects"), bool
        ), f"flags: {tool!r}"
        optional = {
            "title": str,
            "max_concurrency": int,
            "accepts_idempotency_key": bool,
            "annotations": dict,
        }
        for name, kind in optional.items():
            assert name not in tool or isinstance(tool[name], kind), f"{name}: {tool!r}"
