"""bench/registry, bench/schema, bench/codec, bench/agent: the modules' own Google Benchmark
programs, with their goals."""

import json
import re

from . import machine, processes

import subprocess

PROGRAMS = {
    "registry": "registry_bench",
    "schema": "schema_bench",
    "codec": "codec_bench",
    "agent": "agent_bench",
}
NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def run(name, build, options, report, say):
    program = PROGRAMS[name]
    if not build.has(program):
        report.skip(program, f"this commit has no target {program} yet")
        timings = {}
    else:
        say(f"{program} (building)")
        timings = timings_of(build.executable(program), 0.05 if options.quick else 0.5, report)
    if name == "registry":
        registry_goals(timings, report)
    if name == "agent":
        agent_goals(timings, report)


def results_of(program, seconds, *more):
    """What a Google Benchmark program found, aggregates left out."""
    words = [program, "--benchmark_format=json", f"--benchmark_min_time={seconds}", *more]
    process = processes.start(
        words, machine.cores("same")[0], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        out, errors = process.communicate()
    finally:
        processes.stop(process)
    if process.returncode != 0:
        raise RuntimeError(errors.strip())
    return [
        found for found in json.loads(out)["benchmarks"] if found.get("run_type") != "aggregate"
    ]


def timings_of(program, seconds, report):
    """{benchmark: nanoseconds of CPU per iteration}; adds the rows."""
    timings = {}
    for found in results_of(program, seconds):
        if "error_message" in found:
            continue
        nanoseconds = found["cpu_time"] * NANOSECONDS[found["time_unit"]]
        timings[found["name"]] = nanoseconds
        standard = {
            "name",
            "run_name",
            "run_type",
            "family_index",
            "per_family_instance_index",
            "repetitions",
            "repetition_index",
            "threads",
            "iterations",
            "real_time",
            "cpu_time",
            "time_unit",
            "label",
            "aggregate_name",
        }
        counters = {
            key: value
            for key, value in found.items()
            if key not in standard and isinstance(value, (int, float))
        }
        report.row(benchmark=found["name"], ns=nanoseconds, **counters)
    return timings


def registry_goals(timings, report):
    """The names say which is which: resolve, list or page, register or add, each with the number of
    tools as an argument."""

    def slowest(pattern, tools):
        found = [
            time
            for name, time in timings.items()
            if re.search(pattern, name, re.I) and re.search(rf"/{tools}(\D|$)", name)
        ]
        return max(found, default=None)

    resolve, page = slowest("resolve", 100_000), slowest("page|list", 100_000)
    report.goal("resolve among 100 000 tools", resolve, 200.0, "ns")
    report.goal("list a page of 100 000 tools", page / 1e6 if page is not None else None, 1.0, "ms")
    many, few = slowest("regist|add|replace", 100_000), slowest("regist|add|replace", 1_000)
    report.goal(
        "one registration among 100 000 tools over one among 1 000 (it copies no others)",
        many / few if many and few else None,
        4.0,
        "x",
    )


def agent_goals(timings, report):
    """The names hold rounds and tools: BM_Turn/rounds:10/tools:30; a turn of N rounds asks the
    model once more for its answer."""
    for tools in (30, 120):
        turn = next(
            (time for name, time in timings.items() if f"rounds:10/tools:{tools}/" in name + "/"),
            None,
        )
        report.goal(
            f"the loop's own time per model request, two calls in each, {tools} tools on offer",
            turn / 11 / 1e6 if turn is not None else None,
            1.0,
            "ms",
        )
