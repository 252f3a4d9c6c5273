"""bench/run profile: makes cmake/crab.profdata, after which release builds lay out their code.

An instrumented gateway answers the calls of bench/relay for a few seconds; what it ran how often is merged into the file.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from . import load, machine
from .build import Build
from .servers import Gateway

FOLDER = "build/profile"
OUTPUT = machine.ROOT / "cmake" / "crab.profdata"
IN_FLIGHT = (1, 16, 256)


def run(build, options, report, say):
    merge = shutil.which("llvm-profdata-19")
    if not merge:
        raise RuntimeError("llvm-profdata-19 is missing; install the package llvm-19")
    say("building an instrumented gateway")
    instrumented = Build(FOLDER, "-DCRAB_MAKE_PROFILE=ON")
    client = build.executable("bench_load")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LLVM_PROFILE_FILE"] = f"{folder}/%p.profraw"
        with Gateway(instrumented) as gateway:
            for in_flight in IN_FLIGHT:
                for transport in gateway.transports:
                    say(f"{in_flight} in flight, {transport}")
                    words, _ = gateway.load_options(transport, -(-in_flight // 64))
                    load.run(client, None, "calls", *words, "--in-flight", in_flight, "--warm-up", 0.2,
                             "--seconds", 1 if options.quick else 3, "--server-pid", gateway.pid)
            served = gateway.pid
            gateway.process.terminate()
            gateway.process.wait(30)  # it writes its profile as it ends, and calls to the load's devices keep it up to ten seconds
        raw = Path(folder) / f"{served}.profraw"
        subprocess.run([merge, "merge", "-sparse", "-o", OUTPUT, raw], check=True)
    report.row(profile=str(OUTPUT.relative_to(machine.ROOT)), kilobytes=OUTPUT.stat().st_size / 1000)
