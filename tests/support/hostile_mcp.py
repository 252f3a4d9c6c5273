"""An MCP server on stdio whose every text is hostile: names, titles, descriptions, schemas, answers
and what it writes to stderr. Its one argument is the file of the texts."""

from __future__ import annotations

import itertools
import json
import sys
from typing import Any

TEXTS: list[str] = json.loads(open(sys.argv[1], encoding="utf-8").read())
_next = itertools.cycle(TEXTS)


def one_tool(number: int) -> dict[str, Any]:
    text = next(_next)
    return {
        "name": f"evil_{number}" if number % 4 else text[:60],
        "title": next(_next),
        "description": text,
        "inputSchema": {
            "type": "object",
            "title": text,
            "properties": {text[:80] or "empty": {"type": "string", "description": text}},
        },
    }


def answer(request: dict[str, Any]) -> dict[str, Any]:
    method = request["method"]
    if method == "initialize":
        return {
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": next(_next), "version": next(_next)},
            "instructions": next(_next),
        }
    if method == "tools/list":
        return {"tools": [one_tool(number) for number in range(24)]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": next(_next)}], "isError": True}
    return {}


def main() -> None:
    print("\n".join(TEXTS[:40]), file=sys.stderr, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        if request["method"] == "server/discover":
            reply = {"error": {"code": -32601, "message": next(_next)}}
        else:
            reply = {"result": answer(request)}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)


if __name__ == "__main__":
    main()
