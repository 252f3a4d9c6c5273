"""The headers that repeat parts of a modern MCP request (docs/protocols/mcp.md, section 2.3)."""

from __future__ import annotations

import base64
import re
from typing import Any

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")


def header_value(value: Any) -> str:
    """A value as it stands in a Mcp-* header."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    is_plain = all(" " <= letter <= "~" or letter == "\t" for letter in text)
    if is_plain and text == text.strip() and not re.fullmatch(r"=\?base64\?.*\?=", text):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def parameter_headers(schema: Any, arguments: Any) -> dict[str, str]:
    """The Mcp-Param-* headers of a call."""
    found: dict[str, str] = {}
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name, member in (properties or {}).items():
        value = arguments.get(name) if isinstance(arguments, dict) else None
        if isinstance(member, dict) and value is not None:
            if "x-mcp-header" in member:
                found[f"Mcp-Param-{member['x-mcp-header']}"] = header_value(value)
            found |= parameter_headers(member, value)
    return found


def _declared(schema: Any, is_reached: bool) -> list[tuple[Any, Any, bool]]:
    """(header, type, whether only `properties` lead there) of each x-mcp-header."""
    found: list[tuple[Any, Any, bool]] = []
    if isinstance(schema, list):
        for member in schema:
            found += _declared(member, False)
    elif isinstance(schema, dict):
        if "x-mcp-header" in schema:
            found.append((schema["x-mcp-header"], schema.get("type"), is_reached))
        for key, member in schema.items():
            if key == "properties" and isinstance(member, dict):
                for one in member.values():
                    found += _declared(one, is_reached)
            elif key != "x-mcp-header":
                found += _declared(member, False)
    return found


def has_valid_headers(schema: Any) -> bool:
    """Whether all x-mcp-header of a tool's schema keep the rules."""
    names: set[str] = set()
    for name, kind, is_reached in _declared(schema, True):
        if not isinstance(name, str) or not _TOKEN.fullmatch(name) or not is_reached:
            return False
        if kind not in ("string", "integer", "boolean") or name.lower() in names:
            return False
        names.add(name.lower())
    return True
