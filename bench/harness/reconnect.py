"""bench/reconnect: a gateway restarts, all its idle devices come back at once, and then they are
called."""

import json
import resource
import subprocess
import time

from . import http_client, machine, processes
from .idle import DEVICES_PER_TOKEN
from .servers import relay_server

CROWD = 64  # dial at the same time, each its next as soon as it is registered
CALLED = 500  # devices that are called afterwards, one after the other
ARGUMENTS = {
    "room": "kitchen",
    "target_celsius": 21.5,
    "mode": "schedule",
}  # of the tool in bench/load/payload.hpp


def run(build, options, report, say):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # the server inherits it
    count = min(options.count or (1_000 if options.quick else 10_000), hard - 100)
    report.settings.update(devices=count, at_once=CROWD)
    program = build.executable("bench_load")
    with relay_server("gateway", build) as server:
        tokens = server.folder / "tokens"
        tokens.write_text(
            "\n".join(
                server.pair(f"idle{i}", "device") for i in range(-(-count // DEVICES_PER_TOKEN))
            )
        )
        seconds = refused = None
        for case in ("first", "after a restart"):
            say(case)
            started, used = time.monotonic(), processes.cpu_ns(server.pid)
            holder = hold_devices(program, server, count, tokens)
            try:
                opened = json.loads(processes.line_with(holder, '"open"', 300))["open"]
                seconds = time.monotonic() - started if opened == count else None
                report.row(
                    case=case,
                    devices=opened,
                    asked=count,
                    seconds=time.monotonic() - started,
                    server_cpu_us_per_device=(processes.cpu_ns(server.pid) - used)
                    / 1000
                    / max(opened, 1),
                )
                refused = calls_refused(server.callers, opened, count)
            finally:
                processes.stop(holder)
            if case == "first":
                processes.stop(server.process)
                server.spawn()
                server.read_ready_line()
        report.goal("all registered again", seconds, 5.0, "s")
        report.goal(f"of {CALLED} calls afterwards refused", refused, 0, "")
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def hold_devices(program, server, count, tokens):
    """The load generator with `count` devices, which answer calls until its input ends."""
    words = [program, "idle", "--device", server.public, "--count", count, "--tokens", tokens]
    words += ["--tools", 1, "--threads", CROWD, "--answer", 1]
    return processes.start(
        words,
        machine.cores("split")[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def calls_refused(callers, opened, count):
    """How many of CALLED calls to devices all over the crowd did not end well; None unless all
    devices are there."""
    if opened != count:
        return None
    connection = http_client.UnixConnection(callers)
    refused = 0
    for number in range(0, count, max(1, count // CALLED)):
        body = json.dumps(
            {
                "version": "v1",
                "call_id": f"reconnect-{time.monotonic_ns()}",
                "tool_name": f"echo{number}",
                "tenant_id": "default",
                "args": ARGUMENTS,
                "context": {"agent_id": "bench", "session_id": "bench"},
            }
        )
        status, text = http_client.request(connection, "POST", "/v1/tools/call", body)
        refused += status != 200 or '"status":"ok"' not in text
    connection.close()
    return refused
