"""An MCP server on standard input and output, of 2025-11-25, for tests of what such programs may
do. It starts a daemon, which left its parent, its group and its session and takes no notice of
signals; its tool `run` gives what a script of a shell prints, `daemon` the id of the daemon, and
`pid` its own. All of them have the first argument, a mark, in their command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

MARK = sys.argv[1]


def become_daemon() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(1)


def start_daemon() -> int:
    """Two forks and a session of its own: whoever started it has no way to find it."""
    reads, writes = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(writes, str(os.getpid()).encode())
            for number in range(3):
                os.dup2(os.open(os.devnull, os.O_RDWR), number)
            become_daemon()
        os._exit(0)
    os.wait()
    return int(os.read(reads, 20))


def run(params: dict[str, Any]) -> str:
    words = ["sh", "-c", params["arguments"]["script"]]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.stdout + done.stderr


def answer(number: Any, result: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)


def serve(daemon: int) -> None:
    schema = {"type": "object", "properties": {"script": {"type": "string"}}}
    tools = {"run": run, "daemon": lambda _: str(daemon), "pid": lambda _: str(os.getpid())}
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message.get("method"), message.get("params", {})
        if "id" not in message:
            continue
        if method == "initialize":
            info = {"name": "program", "version": "1"}
            version = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
            answer(message["id"], {**version, "serverInfo": info})
        elif method == "tools/list":
            listed = [{"name": name, "inputSchema": schema} for name in tools]
            answer(message["id"], {"tools": listed})
        elif method == "tools/call":
            text = tools[params["name"]](params)
            answer(message["id"], {"content": [{"type": "text", "text": text}]})
        else:
            error = {"code": -32601, "message": "there is no such method"}
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
    while "stubborn" in sys.argv:  # the end of its input means nothing to it
        time.sleep(1)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_IGN if "stubborn" in sys.argv else signal.SIG_DFL)
    serve(start_daemon() if "minimal" not in sys.argv else 0)
