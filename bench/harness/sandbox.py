"""bench/sandbox: the start of a command that does nothing, beside posix_spawn, bubblewrap and
systemd-run, in one run."""

from . import micro

PROGRAM = "command_run_bench"


def run(build, options, report, say):
    say(f"{PROGRAM} (building)")
    program = build.executable(PROGRAM)
    build.executable("crab-sandbox-init")
    say("sandbox")
    times = {}
    for found in micro.results_of(
        program,
        0.1 if options.quick else 1,
        f"--benchmark_repetitions={1 if options.quick else 3}",
        "--benchmark_enable_random_interleaving=true",
    ):
        name = found["run_name"].removesuffix("/real_time")
        if "error_message" in found:
            report.skip(name, found["error_message"])
        else:
            times.setdefault(name, []).append(
                found["real_time"] * micro.NANOSECONDS[found["time_unit"]] / 1e6
            )
    median = {name: sorted(taken)[len(taken) // 2] for name, taken in times.items()}
    for name, taken in median.items():
        report.row(start=name, ms=taken)
    spawn = median.get("BM_PosixSpawn")
    for name, what in (
        ("BM_Command/cgroups:0", "a sandboxed command over posix_spawn"),
        ("BM_Command/cgroups:1", "with a control group of its own"),
        ("BM_BareCommand", "without namespaces"),
    ):
        taken = median.get(name)
        report.goal(
            what, taken - spawn if taken is not None and spawn is not None else None, 10.0, "ms"
        )
