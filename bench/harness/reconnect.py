"""bench/reconnect: a gateway restarts, and all its idle devices come back at once."""

import json
import resource
import subprocess
import time

from . import machine, processes
from .idle import DEVICES_PER_TOKEN
from .servers import relay_server

CROWD = 64  # dial at the same time, each its next as soon as it is registered


def run(build, options, report, say):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # the server inherits it
    count = min(options.count or (1_000 if options.quick else 10_000), hard - 100)
    report.settings.update(devices=count, at_once=CROWD)
    program = build.executable("bench_load")
    with relay_server("gateway", build) as server:
        tokens = server.folder / "tokens"
        tokens.write_text("\n".join(server.pair(f"idle{i}", "device") for i in range(-(-count // DEVICES_PER_TOKEN))))
        seconds = None
        for case in ("first", "after a restart"):
            say(case)
            started = time.monotonic()
            words = [program, "idle", "--device", server.public, "--count", count, "--tokens", tokens, "--tools", 1, "--threads", CROWD]
            holder = processes.start(words, machine.cores("split")[1], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            try:
                opened = json.loads(processes.line_with(holder, '"open"', 300))["open"]
                seconds = time.monotonic() - started if opened == count else None
                report.row(case=case, devices=opened, asked=count, seconds=time.monotonic() - started)
            finally:
                processes.stop(holder)
            if case == "first":
                processes.stop(server.process)
                server.spawn()
                server.read_ready_line()
        report.goal("all registered again", seconds, 5.0, "s")
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
