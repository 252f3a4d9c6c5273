"""bench/soak: mixed traffic for a while; memory must stay flat, and nothing may be left pending
afterwards."""

import json
import re
import subprocess
import time
from statistics import median

from . import http_client, long_life, machine, processes
from .idle import memory
from .processes import Unavailable
from .servers import relay_server

PENDING = re.compile(r"pending|in_flight|inflight|running|waiting|queue")
GRACE_SECONDS = 20  # calls of a device that left wait up to 15 s for its return


def run(build, options, report, say):
    if options.hours:
        return long_life.run(build, options, report, say)
    seconds = options.seconds if options.seconds > 2 else (10 if options.quick else 60)
    report.settings.update(server=options.server, seconds=seconds, cores=options.cores)
    server_core, load_core = machine.cores(options.cores)
    program = build.executable("bench_load")
    try:
        with relay_server(options.server, build, core=server_core) as server:
            words = [
                program,
                "soak",
                "--connect",
                server.public,
                "--device",
                server.public,
                "--seconds",
                seconds,
            ]
            words += ["--token", server.token] if server.token else []
            traffic = processes.start(
                words, load_core, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            try:
                samples = watch_memory(server, traffic, seconds, say)
                out, errors = traffic.communicate()
            finally:
                processes.stop(traffic)
            if traffic.returncode != 0:
                raise RuntimeError(errors.strip())
            counts = json.loads(out)
            if counts["ok"] == 0:
                raise RuntimeError(f"no call succeeded: {counts}")
            left = pending_after(server) if options.server == "gateway" else None
    except Unavailable as reason:
        report.skip(options.server, str(reason))
        return
    report.row(**counts, calls_per_s=counts["calls"] / seconds)
    growth, baseline = growth_of(samples, seconds)
    report.row(memory_mib=baseline / 2**20, growth_mib=growth / 2**20)
    report.goal(
        "growth of resident memory after warm-up",
        growth / 2**20,
        max(options.growth_mib, baseline * 0.05 / 2**20),
        "MiB",
    )
    report.goal("connections broken by the server", counts["broken"] + counts["devices_lost"], 0)
    if options.server == "gateway":
        report.goal(
            "gauges of pending work that are not zero afterwards",
            None if left is None else len(left),
            0,
        )
        report.notes += [f"still pending: {name} = {value}" for name, value in (left or {}).items()]


def watch_memory(server, traffic, seconds, say):
    """(seconds since the begin, resident bytes of the server), several each second, while there is
    traffic."""
    samples = []
    begin = time.monotonic()
    while traffic.poll() is None and server.process.poll() is None:
        time.sleep(0.25)
        samples.append((time.monotonic() - begin, memory(server.pid)[0]))
        say(f"{samples[-1][0]:.0f} of {seconds:.0f} s, {samples[-1][1] / 2**20:.1f} MiB")
    if server.process.poll() is not None:
        raise RuntimeError(
            f"{server.name} ended with status {server.process.returncode} under load"
        )
    return samples


def growth_of(samples, seconds):
    """(growth, baseline) in bytes: the median of the last fifth less that of the fifth after the
    warm-up, which is the first one."""
    early = [rss for at, rss in samples if seconds * 0.2 <= at < seconds * 0.4]
    late = [rss for at, rss in samples if seconds * 0.8 <= at < seconds]
    return median(late) - median(early), median(early)


def pending_after(server):
    """The gauges of pending work that did not come down to zero within the grace time; None when
    the server has no such gauge."""
    end = time.monotonic() + GRACE_SECONDS
    while True:
        values, gauges = http_client.metrics(server.admin)
        pending = {
            name: value
            for name, value in values.items()
            if name.split("{")[0] in gauges and PENDING.search(name)
        }
        if not pending:
            return None
        left = {name: value for name, value in pending.items() if value != 0}
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.25)
