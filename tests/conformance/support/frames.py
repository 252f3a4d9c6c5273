"""What the gateway may say to a ClawSeed client: docs/protocols/clawseed.md, sections 2 and 9, as a
table."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

_STRING, _INT, _BOOL, _OBJECT, _LIST = str, int, bool, dict, list

#: type -> (required fields, optional fields)
_FRAMES: dict[str, tuple[dict[str, type], dict[str, type]]] = {
    "session_start": (
        {"v": _INT, "session_id": _STRING, "resumed": _BOOL, "message_count": _INT},
        {
            "name": _STRING,
            "persona": _STRING,
            "image_attachments_supported": _BOOL,
            "image_model_support": _STRING,
            "file_attachments_supported": _BOOL,
            "ask_user_supported": _BOOL,
        },
    ),
    "connected": ({"v": _INT, "message": _STRING}, {}),
    "tools_registered": ({"count": _INT, "registered": _INT}, {}),
    "registered_tools": ({"tools": _LIST}, {}),
    "tool_call_request": ({"id": _STRING, "name": _STRING, "args": _OBJECT}, {}),
    "result_acknowledged": ({"id": _STRING}, {}),
    "tool_call": ({"id": _STRING, "name": _STRING, "args": _OBJECT}, {}),
    "tool_result": ({"id": _STRING, "name": _STRING, "output": _STRING}, {"presentation": _OBJECT}),
    "chunk": ({"content": _STRING}, {}),
    "thinking": ({"content": _STRING}, {}),
    "debug_prompt": ({"messages": _STRING, "estimated_tokens": _INT}, {}),
    "chunk_reset": ({}, {}),
    "done": ({"full_response": _STRING}, {"metrics": dict}),
    "image_context": ({"omitted_ids": _LIST}, {}),
    "ask_user_request": (
        {
            "request_id": _STRING,
            "session_id": _STRING,
            "turn_id": _STRING,
            "tool_call_id": _STRING,
            "kind": _STRING,
            "question": _STRING,
            "options": _LIST,
        },
        {"placeholder": _STRING},
    ),
    "ask_user_ack": ({"request_id": _STRING, "status": _STRING}, {"error": _STRING}),
    "aborted": ({}, {}),
    "abort_ack": ({"status": _STRING}, {}),
    "title_updated": ({"title": _STRING}, {}),
    "agent_start": ({"provider": _STRING, "model": _STRING}, {}),
    "agent_end": ({"provider": _STRING, "model": _STRING}, {}),
    "error": ({"message": _STRING, "code": _STRING}, {}),
}
#: extension -> (type, fields it adds there; None: the type itself is the extension)
_EXTENSIONS: dict[str, tuple[str, dict[str, type] | None]] = {
    "tools_registered.rejected": ("tools_registered", {"rejected": _LIST}),
    "tool_call_request.deadline_ms": ("tool_call_request", {"deadline_ms": _INT}),
    "tool_call_request.traceparent": ("tool_call_request", {"traceparent": str}),
    "tool_call_request.caller": ("tool_call_request", {"caller": dict}),
    "tool_call_cancel": ("tool_call_cancel", None),
    "artifacts": ("connected", {"artifacts": _OBJECT}),
}
#: members that clients with the extension `tool_call.call_id` may get
_CALL_ID = {"tool_call": {"call_id": _STRING}, "tool_result": {"call_id": _STRING}}
#: types that only clients with the extension `approvals` get
_APPROVALS: dict[str, tuple[dict[str, type], dict[str, type]]] = {
    "approval_request": (
        {
            "id": _STRING,
            "tool": _STRING,
            "args": _STRING,
            "description": _STRING,
            "network_policy": _STRING,
            "privilege_level": _STRING,
            "until": _STRING,
        },
        {"rule": _STRING, "worktree": _STRING},
    ),
    "approval_ended": ({"id": _STRING, "state": _STRING}, {"by": _STRING, "scope": _STRING}),
    "approval_refused": ({"id": _STRING, "code": _STRING, "message": _STRING}, {}),
}
_CODES = {
    "INVALID_JSON",
    "UNKNOWN_MESSAGE_TYPE",
    "EMPTY_CONTENT",
    "NO_USER_MESSAGE",
    "SESSION_BUSY",
    "AUTH_ERROR",
    "PROVIDER_ERROR",
    "AGENT_ERROR",
    "FORBIDDEN",
    "RATE_LIMITED",
    "IMAGE_MODEL_UNSUPPORTED",
    "INVALID_IMAGE_MESSAGE",
    "INVALID_FILE_MESSAGE",
}


def _fits(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def check_frame(frame: Any, capabilities: Collection[str] = ()) -> None:
    """Fails unless `frame` is one that a client with these capabilities may get."""
    assert isinstance(frame, dict), f"a frame that is no object: {frame!r}"
    kind = frame.get("type")
    required, optional = _FRAMES.get(kind, (None, None))
    if "approvals" in capabilities:
        required, optional = _APPROVALS.get(kind, (required, optional))
    if kind == "tool_call_cancel" and kind in capabilities:
        required, optional = {"id": _STRING, "reason": _STRING}, {}
    assert required is not None, f"type {kind!r} is not for this client: {frame!r}"
    optional = dict(optional)
    for extension in capabilities:
        target, fields = _EXTENSIONS.get(extension, ("", None))
        if target == kind and fields:
            optional |= fields
    if "tool_call.call_id" in capabilities:
        optional |= _CALL_ID.get(kind, {})
    if kind == "connected" and capabilities:
        required = {**required, "capabilities": _LIST, "max_message_bytes": _INT, "grace_ms": _INT}
    for name, field_type in required.items():
        assert name in frame and _fits(
            frame[name], field_type
        ), f"{kind}.{name} has to be {field_type.__name__}: {frame!r}"
    for name, value in frame.items():
        assert (
            name == "type" or name in required or name in optional
        ), f"{kind}.{name} is not for this client: {frame!r}"
        assert name not in optional or _fits(
            value, optional[name]
        ), f"{kind}.{name} has the wrong type: {frame!r}"
    if "v" in frame:
        assert frame["v"] == 1, f"v has to be 1: {frame!r}"
    if kind == "error":
        assert frame["code"] in _CODES, f"unknown error code: {frame!r}"
    if kind == "tool_call_request" and "deadline_ms" in frame:
        assert frame["deadline_ms"] >= 1, f"deadline_ms below 1: {frame!r}"
