"""bench/run instructions: instructions per relayed call, counted by callgrind.

CPU time on a shared machine varies by a fifth from minute to minute; what a call executes does so
less. Each program serves the same load twice, once for longer; the difference of what was counted,
over the difference of the calls, is what one call takes. What a start executes varies, hence the
long run; so does how many calls an event loop finds ready at once, hence an idle machine here too.
Valgrind runs one thread at a time and slowly: latencies mean nothing.
`/mcp` (2026-07-28) is counted beside `POST /v1/tools/call`.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from . import load, processes
from .build import COPIES
from .mcp_client import MODERN
from .servers import Gateway


def run(build, options, report, say):
    valgrind = shutil.which("valgrind")
    if not valgrind:
        raise RuntimeError("valgrind is missing; install the package valgrind")
    client = build.executable("bench_load")
    programs = {"this": build.executable("crab")}
    if options.against:
        programs["against"] = Path(options.against).resolve()
    short, long = (1, 5) if options.quick else (3, 40)
    found = {}
    for in_flight in options.in_flight:
        for transport in (*Gateway.transports, "mcp"):
            for name, program in programs.items():
                say(f"{name}, {transport}, {in_flight} in flight")
                few, many = (
                    counted(build, program, valgrind, client, transport, in_flight, seconds)
                    for seconds in (short, long)
                )
                per_call = (many[0] - few[0]) / (many[1] - few[1])
                found[name, transport, in_flight] = per_call
                report.row(
                    program=name,
                    transport=transport,
                    in_flight=in_flight,
                    calls=many[1],
                    thousand_instructions=per_call / 1000,
                )
    for name, transport, in_flight in found:
        if transport == "mcp":
            ratio = found[name, "mcp", in_flight] / found[name, "tcp", in_flight]
            report.goal(f"{name}, /mcp over /v1/tools/call at {in_flight}", ratio, 1.25)
        if name == "against":
            ratio = found["this", transport, in_flight] / found[name, transport, in_flight]
            report.goal(f"{transport} at {in_flight}, this over the other", ratio, 1.0)


class CountedGateway(Gateway):
    """A gateway under callgrind; `instructions` once it has ended."""

    start_seconds = 120

    def __init__(self, build, program, valgrind):
        super().__init__(build)
        self.program, self.valgrind = program, valgrind

    def command(self):
        counts = self.folder / "counts"
        return [
            self.valgrind,
            "--tool=callgrind",
            f"--callgrind-out-file={counts}",
            *super().command(),
        ]

    def end(self):
        processes.stop(self.process, patience=60)
        match = re.search(r"Collected : (\d+)", self.errors())
        if not match:
            raise RuntimeError(f"callgrind counted nothing:\n{self.errors()}")
        return int(match.group(1))


def counted(build, program, valgrind, client, transport, in_flight, seconds):
    """What the gateway executed in all, and how many calls it answered."""
    with CountedGateway(build, stripped(build, program), valgrind) as gateway:
        socket = "tcp" if transport == "mcp" else transport
        words, _ = gateway.load_options(socket, -(-in_flight // 64))
        if transport == "mcp":
            words = [*words[2:], "--target", "mcp", "--version", MODERN]
        timing = ["--in-flight", in_flight, "--warm-up", 0, "--seconds", seconds]
        answered = load.run(client, None, "calls", *words, *timing)["answered"]
        return gateway.end(), answered


def stripped(build, program):
    """A copy without debug information, which valgrind need not read; the sandbox's helper is
    looked for beside the program."""
    folder = build.folder / COPIES / re.sub(r"\W", "_", str(program))
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / "crab"
    if not copy.exists() or copy.stat().st_mtime < program.stat().st_mtime:
        subprocess.run(["objcopy", "--strip-debug", program, copy], check=True)
    helper = program.parent / "crab-sandbox-init"
    if helper.exists() and not (folder / helper.name).exists():
        os.symlink(helper, folder / helper.name)
    return copy
