#!/usr/bin/env python3
"""Small things that models get wrong when they do them in their head, as MCP tools."""

from datetime import date

from mcp_kit import Json, Server, ToolError

server = Server("desk", "1.0.0")

#: unit → (what it measures, how many of the base unit it is)
UNITS = {
    "mm": ("length", 0.001),
    "cm": ("length", 0.01),
    "m": ("length", 1.0),
    "km": ("length", 1000.0),
    "in": ("length", 0.0254),
    "ft": ("length", 0.3048),
    "mi": ("length", 1609.344),
    "g": ("mass", 0.001),
    "kg": ("mass", 1.0),
    "oz": ("mass", 0.028349523125),
    "lb": ("mass", 0.45359237),
    "ml": ("volume", 0.001),
    "l": ("volume", 1.0),
    "gal": ("volume", 3.785411784),
}
UNIT = {"type": "string", "enum": sorted(UNITS)}


@server.tool("Counts words, characters and lines of a text", {"text": {"type": "string"}}, ["text"])
def word_count(text: str) -> Json:
    return {"words": len(text.split()), "characters": len(text), "lines": len(text.splitlines())}


@server.tool(
    "Converts a length, mass or volume to another unit",
    {"value": {"type": "number"}, "from_unit": UNIT, "to_unit": UNIT},
    ["value", "from_unit", "to_unit"],
)
def unit_convert(value: float, from_unit: str, to_unit: str) -> Json:
    for field, unit in (("from_unit", from_unit), ("to_unit", to_unit)):
        if unit not in UNITS:
            raise ToolError(f"/{field}: is none of {', '.join(sorted(UNITS))}")
    (kind, size), (other, other_size) = UNITS[from_unit], UNITS[to_unit]
    if kind != other:
        raise ToolError(f"{from_unit} measures {kind}, {to_unit} measures {other}")
    return {"value": round(value * size / other_size, 9), "unit": to_unit}


DAY = {"type": "string", "format": "date", "description": "as 2026-07-28"}


@server.tool("Days from one date to another", {"start": DAY, "end": DAY}, ["start", "end"])
def days_between(start: str, end: str) -> Json:
    return {"days": (date.fromisoformat(end) - date.fromisoformat(start)).days}


if __name__ == "__main__":
    server.serve()
