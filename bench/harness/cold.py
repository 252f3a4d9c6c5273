"""bench/cold: from the start of the process to the first answered call of a tool, over the Unix
socket."""

import json
import time
from statistics import median

from . import http_client, processes
from .processes import Unavailable
from .servers import relay_server, wait_until_healthy


def body_of(tool):
    return json.dumps(
        {
            "version": "v1",
            "call_id": f"cold-{time.time_ns()}",
            "tool_name": tool,
            "tenant_id": "default",
            "args": {},
            "context": {"agent_id": "bench", "session_id": "bench"},
        }
    )


def first_tool(server):
    """A tool that the configuration offers and that needs no arguments; None when there is no such
    tool."""
    connection = http_client.UnixConnection(server.admin)
    try:
        tools = json.loads(http_client.request(connection, "GET", "/v1/tools")[1]).get("tools", [])
    finally:
        connection.close()
    return next(
        (tool["name"] for tool in tools if not tool.get("input_schema", {}).get("required")), None
    )


def run(build, options, report, say):
    goal = "cold start to the first answered call"
    rounds = 3 if options.quick else 15
    report.settings.update(server=options.server, starts=rounds)
    try:
        with relay_server(options.server, build) as server:
            tool = first_tool(server)
            if tool is None:
                report.notes.append(
                    "no configured tool without required arguments: answered_ms is the error of "
                    "an unknown tool"
                )
            healthy, answered = [], []
            for number in range(rounds):
                say(f"start {number + 1} of {rounds}")
                processes.stop(server.process)
                begin = time.monotonic_ns()
                server.spawn()
                wait_until_healthy(server)
                healthy.append((time.monotonic_ns() - begin) / 1e6)
                connection = http_client.UnixConnection(server.admin)
                try:
                    status, text = http_client.request(
                        connection, "POST", "/v1/tools/call", body_of(tool or "no_such_tool")
                    )
                finally:
                    connection.close()
                answered.append((time.monotonic_ns() - begin) / 1e6)
                if tool and (status != 200 or '"status":"ok"' not in text):
                    raise RuntimeError(
                        f"the first call of {tool} was answered {status} {text[:300]}"
                    )
    except Unavailable as reason:
        report.skip(options.server, str(reason))
        report.goal(goal, None, 50.0, "ms")
        return
    report.row(
        server=options.server,
        tool=tool or "-",
        healthy_ms=median(healthy),
        answered_ms=median(answered),
        worst_ms=max(answered),
    )
    report.goal(goal, median(answered) if tool else None, 50.0, "ms")
