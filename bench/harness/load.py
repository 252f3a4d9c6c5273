"""Runs bench_load: once, or again and again for medians."""

import json
import subprocess
from statistics import median

from . import processes


def run(program, core, *words, pass_fds=()):
    """Blocks until the load ends. Raises RuntimeError with its own words when it fails."""
    process = processes.start(
        [program, *words],
        core,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=pass_fds,
    )
    try:
        out, errors = process.communicate()
    finally:
        processes.stop(process)
    if process.returncode != 0:
        raise RuntimeError(errors.strip() or f"bench_load ended with status {process.returncode}")
    return json.loads(out)


def in_rounds(rounds, in_flight_counts, variants, sample, report, say, name_of=str):
    """The medians of what `sample(variant, in_flight)` gives, by both; in rounds, so that what
    disturbs one disturbs all. A sample that fails (RuntimeError) is left out and reported; one that
    is None was not wanted."""
    samples = {}
    for round_number in range(rounds):
        for in_flight in in_flight_counts:
            say(f"round {round_number + 1} of {rounds}, {in_flight} in flight")
            for variant in variants:
                try:
                    found = sample(variant, in_flight)
                except RuntimeError as failure:
                    report.skip(f"{name_of(variant)} at {in_flight}", str(failure))
                    continue
                if found is not None:
                    samples.setdefault((variant, in_flight), []).append(found)
    return {key: medians(found) for key, found in samples.items()}


def medians(samples):
    """The median of each figure, and `spread`: how far the CPU figures lie apart, relative to their
    median."""
    result = {key: median(sample[key] for sample in samples) for key in samples[0]}
    cpu = [sample["cpu_us"] for sample in samples]
    return {
        **result,
        "failures": sum(sample["failures"] for sample in samples),
        "spread": (max(cpu) - min(cpu)) / result["cpu_us"] if result["cpu_us"] else None,
    }


def add_row(report, variant, in_flight, result, **ratios):
    """A row of what in_rounds() gives for one variant; `ratios` stand beside its CPU figure."""
    report.row(
        variant=variant,
        in_flight=in_flight,
        cpu_us=result["cpu_us"],
        **ratios,
        calls_per_s=round(result["rate"]),
        p50_us=result["p50_us"],
        p99_us=result["p99_us"],
        spread=result["spread"],
        failures=result["failures"],
    )
