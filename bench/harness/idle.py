"""bench/idle: what an idle device connection costs the server in memory of its own."""

import json
import re
import resource
import subprocess
import time
from pathlib import Path

from . import machine, processes
from .processes import Unavailable
from .servers import relay_server

DEVICES_PER_TOKEN = 30  # below the default limit of connections to one principal


def memory(pid):
    """(resident, of that anonymous: heap and stacks) in bytes."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return tuple(
        1024 * int(re.search(rf"^{name}:\s+(\d+)", text, re.M).group(1))
        for name in ("Rss", "Anonymous")
    )


def run(build, options, report, say):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # the server inherits it
    count = min(options.count or (1_000 if options.quick else 10_000), hard - 100)
    report.settings.update(server=options.server, devices=count)
    cases = [("idle device", 0, 0, 2.0)] + [("idle device with one tool", 0, 1, None)]
    if options.tls:
        cases.append(("idle device, TLS", 1, 0, 16.0))
    program = build.executable("bench_load")
    for name, tls, tools, limit in cases:
        say(name)
        try:
            per_device = measure(build, options, report, program, count, name, tls, tools)
        except Unavailable as reason:
            report.skip(options.server, str(reason))
            per_device = None
        if limit:
            report.goal(f"user memory per {name}", per_device, limit, "KiB")
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def measure(build, options, report, program, count, name, tls, tools):
    """KiB of anonymous memory per connection, None when not all could be opened; adds the row."""
    server = relay_server(options.server, build)
    server.tls = bool(tls)  # the floor has none, and says nothing
    with server:
        tokens = server.folder / "tokens"
        tokens.write_text(
            "\n".join(
                server.pair(f"idle{i}", "device") for i in range(-(-count // DEVICES_PER_TOKEN))
            )
        )
        before = memory(server.pid)
        words = [
            program,
            "idle",
            "--device",
            server.public,
            "--count",
            count,
            "--tokens",
            tokens,
            "--tls",
            tls,
            "--tools",
            tools,
        ]
        started = time.monotonic()
        holder = processes.start(
            words,
            machine.cores("split")[1],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            opened = json.loads(processes.line_with(holder, '"open"', 300))["open"]
            seconds = time.monotonic() - started
            time.sleep(1)  # what the server frees late is not counted against it
            after = memory(server.pid)
        finally:
            processes.stop(holder)
    if opened == 0:
        raise RuntimeError(f"no device could connect to {server.name}")
    rss, anonymous = ((late - early) / opened / 1024 for late, early in zip(after, before))
    report.row(
        case=name,
        open=opened,
        asked=count,
        user_kib=anonymous,
        rss_kib=rss,
        before_mib=before[0] / 2**20,
        after_mib=after[0] / 2**20,
        connect_s=seconds,
    )
    return anonymous if opened == count else None
