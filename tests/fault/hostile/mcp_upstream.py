"""An MCP server on standard input and output, of 2025-11-25; what it does wrong is its first
argument (test_mcp_upstream.py), `good`: nothing. It reads lines and writes lines, and that is all.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

MIB = 1 << 20
MODE = sys.argv[1]
SCHEMA = {"type": "object"}
TEMPLATES = ["t://{a}/{b}"] + [f"u://repos/{{o}}/{{r}}/branch{n}/{{p}}" for n in range(50)]


def write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def answer(number: Any, result: Any) -> None:
    write(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}))


def fail(number: Any) -> None:
    error = {"code": -32601, "message": "there is no such method"}
    write(json.dumps({"jsonrpc": "2.0", "id": number, "error": error}))


def notify(method: str, params: Any) -> None:
    write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))


def text(words: str) -> Any:
    return {"content": [{"type": "text", "text": words}]}


def tools(_: Any) -> Any:
    names = ["big", "many_links", "ask", "wait", "bad"]
    if MODE == "renaming":
        names += [f"n{time.monotonic_ns()}x{n}" for n in range(2000)]
    described = "d" * (MIB if MODE == "wordy" else 10)
    return {"tools": [{"name": n, "description": described, "inputSchema": SCHEMA} for n in names]}


def page(member: str, key: str) -> Callable[[Any], Any]:
    """Lists; of a server that gives endless ones each page is large, and there is always another"""

    def give(params: Any) -> Any:
        number = int(params.get("cursor", "0"))
        if MODE != "endless":
            return {member: []}
        entry = {key: f"e://{number}", "name": "e", "title": "t" * (4 * MIB)}
        return {member: [entry], "nextCursor": str(number + 1)}

    return give


def templates(params: Any) -> Any:
    if MODE == "endless":
        return page("resourceTemplates", "uriTemplate")(params)
    return {"resourceTemplates": [{"uriTemplate": t, "name": "t"} for t in TEMPLATES]}


def bad(number: Any) -> None:
    """What the tool of each kind does instead of answering."""
    if MODE == "flood":
        for n in range(20_000):
            notify("notifications/message", {"level": "error", "data": "x" * 100, "n": n})
            notify("notifications/resources/updated", {"uri": f"t://a/{n}"})
    if MODE == "changing":
        for _ in range(2000):
            notify("notifications/tools/list_changed", {})
    if MODE == "noise":
        for n in range(20_000):
            write("no message at all" if n % 2 else '{"jsonrpc":"2.0","id":999999,"result":{}}')
    if MODE == "twice":
        for _ in range(1000):
            answer(number, text("again"))
    if MODE == "long":
        sys.stdout.write('{"jsonrpc":"2.0","id":%s,"result":{"x":"' % json.dumps(number))
        for _ in range(20):
            sys.stdout.write("x" * MIB)
        sys.stdout.flush()
    if MODE == "deep":
        write('{"jsonrpc":"2.0","id":%s,"result":%s' % (json.dumps(number), "[" * (4 * MIB)))
    if MODE == "stderr":
        for _ in range(200):
            sys.stderr.write("e" * 10_000 + "\n")
    if MODE == "dying":
        sys.exit(3)
    if MODE == "silent":
        return
    if MODE == "dripping":
        for letter in json.dumps({"jsonrpc": "2.0", "id": number, "result": text("slow")}):
            sys.stdout.write(letter)
            sys.stdout.flush()
            time.sleep(0.002)
        write("")
        return
    answer(number, text("good"))


def call(number: Any, params: Any) -> None:
    name = params.get("name")
    if name == "big":
        answer(number, text("r" * (7 * MIB)))
    elif name == "many_links":
        link = {"type": "resource_link", "name": "l"}
        answer(number, {"content": [{**link, "uri": f"l://{n}"} for n in range(50_000)]})
    elif name == "ask":
        form = {"message": "who?", "requestedSchema": {"type": "object", "properties": {}}}
        ask = {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": form}
        write(json.dumps(ask))
    elif name != "wait":
        bad(number)


LISTS: dict[str, Callable[[Any], Any]] = {
    "tools/list": tools,
    "resources/list": page("resources", "uri"),
    "resources/templates/list": templates,
    "prompts/list": page("prompts", "name"),
}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        number, method, params = (message.get(m) for m in ("id", "method", "params"))
        if number is None or method is None:
            continue
        if method == "initialize":
            has: dict[str, Any] = {"tools": {"listChanged": True}, "logging": {}}
            has |= {"resources": {"subscribe": True, "listChanged": True}, "prompts": {}}
            info = {"name": "hostile", "version": "1", "pad": "p" * (MIB if MODE == "wordy" else 1)}
            opened = {"protocolVersion": "2025-11-25", "capabilities": has, "serverInfo": info}
            answer(number, {**opened, "instructions": "i" * (4 * MIB if MODE == "wordy" else 1)})
        elif method in LISTS:
            answer(number, LISTS[method](params or {}))
        elif method == "tools/call":
            call(number, params or {})
        elif method in ("ping", "resources/subscribe", "resources/unsubscribe", "logging/setLevel"):
            answer(number, {})
        elif method == "resources/read":
            answer(number, {"contents": [{"uri": params["uri"], "text": "good"}]})
        else:
            fail(number)


if __name__ == "__main__":
    main()
