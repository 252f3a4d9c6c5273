"""bench/build: where the time of a build goes: the ten costliest units and headers, by clang's
-ftime-trace, in a folder of its own and without the compiler cache."""

import json
import os
import shutil
import subprocess
import time
from collections import defaultdict

from . import machine

FOLDER = machine.ROOT / "build" / "trace"
SHOWN = 10


def run(_, options, report, say):
    targets = ["crab_base", "crab_json"] if options.quick else ["crab"]
    shutil.rmtree(FOLDER, ignore_errors=True)
    say("configuring")
    check("cmake", "--preset", "dev", "-B", FOLDER, "-DCRAB_CCACHE=OFF", *traced())
    say(f"building {' '.join(targets)}")
    begun = time.monotonic()
    check("ninja", "-C", FOLDER, f"-j{os.cpu_count()}", *targets)
    report.settings.update(targets=" ".join(targets), jobs=os.cpu_count())
    report.row(what="the whole build", seconds=time.monotonic() - begun)
    units, headers, readers = read_traces()
    report.row(what=f"{len(units)} units, one after the other", seconds=sum(units.values()))
    for name, seconds in costliest(units):
        report.row(what=name, seconds=seconds)
    for name, seconds in costliest(headers):
        report.row(what=f"{name}, with what it includes", seconds=seconds, units=readers[name])


def traced():
    return ["-DCMAKE_CXX_FLAGS=-ftime-trace", "-DCRAB_WEB=OFF"]


def costliest(costs):
    return sorted(costs.items(), key=lambda entry: -entry[1])[:SHOWN]


def read_traces():
    """Seconds by unit, seconds by header over all units, and how many units read each header.

    What the precompiled header holds is read once and therefore in none of the units.
    """
    units, headers, readers = {}, defaultdict(float), defaultdict(int)
    for file in FOLDER.rglob("*.c[px][px].json"):  # .cxx: some files of a module as one
        events = json.loads(file.read_text())["traceEvents"]
        units[name_of_unit(file)] = sum(
            event["dur"] / 1e6 for event in events if event.get("name") == "ExecuteCompiler"
        )
        for header, seconds in included(events).items():
            headers[header] += seconds
            readers[header] += 1
    return units, headers, readers


def included(events):
    """Seconds by header of one unit. Begin and end of a header are two events; they nest."""
    found, open_headers = {}, []
    for event in events:
        if event.get("cat") != "Source":
            continue
        if event["ph"] == "b":
            open_headers.append((name_of_header(event["args"]["detail"]), event["ts"]))
        elif open_headers:
            header, begun = open_headers.pop()
            found.setdefault(header, (event["ts"] - begun) / 1e6)
    return found


def name_of_unit(file):
    target, _, name = file.relative_to(FOLDER).as_posix().partition(".dir/")
    return f"{target.split('/')[-1]}: {name.removesuffix('.json')}"


def name_of_header(path):
    """As an #include has it, for our own and for the system's."""
    headers = f"{FOLDER}/headers/"
    if path.startswith(headers):
        return path.removeprefix(headers).partition("/")[2]
    return path.rpartition("/include/")[2] or path


def check(*command):
    done = subprocess.run([str(word) for word in command], cwd=machine.ROOT, capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(done.stdout.decode() + done.stderr.decode())
