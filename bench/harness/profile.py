"""bench/run profile: makes cmake/crab.profdata.tar.xz, after which release builds inline, lay out
and shrink their code.

Instrumented gateways answer the calls of bench/relay, bench/mcp and bench/rtp for a few seconds;
what they ran how often is merged into the file.
"""

import os
import shutil
import subprocess
import tarfile
import tempfile
from contextlib import ExitStack
from pathlib import Path

from . import load, machine
from .build import Build
from .mcp import GatewayWithUpstream, of_revision, session_of
from .mcp_client import LEGACY, MODERN
from .rtp import GatewayWithHost, GatewayWithPeer
from .servers import Gateway, ToolHost

FOLDER = "build/profile"
OUTPUT = machine.ROOT / "cmake" / "crab.profdata.tar.xz"
IN_FLIGHT = (1, 16, 256)


def run(build, options, report, say):
    merge = shutil.which("llvm-profdata-19")
    if not merge:
        raise RuntimeError("llvm-profdata-19 is missing; install the package llvm-19")
    say("building an instrumented gateway")
    instrumented = Build(FOLDER, "-DCRAB_MAKE_PROFILE=ON")
    client = build.executable("bench_load")
    seconds = 1 if options.quick else 3
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LLVM_PROFILE_FILE"] = f"{folder}/%p.profraw"
        served = [
            relay(instrumented, client, seconds, say),
            mcp_server(instrumented, client, seconds, say),
            *tool_hosts(instrumented, client, seconds, say),
        ]
        raw = [Path(folder) / f"{pid}.profraw" for pid in served]
        merged = Path(folder) / "crab.profdata"
        # functions that were never run are kept: the compiler makes small what it knows of
        subprocess.run([merge, "merge", "-o", merged, *raw], check=True)
        with tarfile.open(OUTPUT, "w:xz", preset=9) as archive:
            archive.add(merged, merged.name, filter=nobody)
    report.row(
        profile=str(OUTPUT.relative_to(machine.ROOT)), kilobytes=OUTPUT.stat().st_size / 1000
    )


def nobody(member):
    """Without what says who made it and when."""
    member.mtime = member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def relay(instrumented, client, seconds, say):
    """Calls of devices; the process that served them."""
    with Gateway(instrumented) as gateway:
        for in_flight in IN_FLIGHT:
            for transport in gateway.transports:
                say(f"{in_flight} in flight, {transport}")
                words, _ = gateway.load_options(transport, -(-in_flight // 64))
                load.run(
                    client,
                    None,
                    "calls",
                    *words,
                    "--in-flight",
                    in_flight,
                    "--warm-up",
                    0.2,
                    "--seconds",
                    seconds,
                    "--server-pid",
                    gateway.pid,
                )
        mcp_calls(gateway, client, seconds, say)
        return ended(gateway)


def mcp_server(instrumented, client, seconds, say):
    """Calls of an MCP server on standard input and output; the process that served them."""
    with GatewayWithUpstream(instrumented, None, [client, "mcp-server"]) as gateway:
        gateway.wait_for_tool()
        mcp_calls(gateway, client, seconds, say)
        return ended(gateway)


def mcp_calls(gateway, client, seconds, say):
    """Calls through `/mcp`, of both eras."""
    for in_flight in IN_FLIGHT:
        for extra in (of_revision(MODERN), of_revision(LEGACY, session_of(gateway))):
            say(f"{in_flight} in flight, /mcp {extra[3]}")
            words, _ = gateway.load_options("tcp", -(-in_flight // 64))
            timing = ["--in-flight", in_flight, "--warm-up", 0.2, "--seconds", seconds]
            server = ["--server-pid", gateway.pid]
            load.run(client, None, "calls", *words[2:], *extra, *timing, *server)


def tool_hosts(instrumented, client, seconds, say):
    """Calls of a host on a Unix socket, with side effects too, and of a paired one; the processes
    that served them."""
    with ExitStack() as stack:
        host = stack.enter_context(ToolHost(client))
        for make, tools in (
            (lambda: GatewayWithHost(instrumented, None, host), ("echo", "set")),
            (lambda: GatewayWithPeer(instrumented, None, host, stack), ("echo",)),
        ):
            gateway = stack.enter_context(make())
            gateway.wait_for_tool()
            for tool in tools:
                say(f"tool host, {tool}")
                load.run(
                    client,
                    None,
                    "calls",
                    "--target",
                    "http",
                    "--connect",
                    f"unix:{gateway.callers}",
                    "--tool",
                    tool,
                    "--in-flight",
                    max(IN_FLIGHT),
                    "--warm-up",
                    0.2,
                    "--seconds",
                    seconds,
                    "--server-pid",
                    gateway.pid,
                )
            yield ended(gateway)


def ended(gateway):
    """Ends it in good order and returns its pid: it writes its profile then, and calls to the
    load's devices keep it up to ten seconds."""
    gateway.process.terminate()
    gateway.process.wait(30)
    return gateway.pid
