"""bench/run budget: what one relayed call costs the event loop, stage by stage, against the limits
in docs/decisions/0007.

Instructions and misses of the instruction cache (32 KiB) are callgrind's; a stage is the functions
that its folders define, with all that is inlined in them. Locks, clock readings, copied bytes and
system calls are counted by a library that is loaded into the gateway. Each count is the difference
of a long and a short run, over the difference of their calls. The event loop is the thread that
executes most; what other threads execute is a row of its own. `--short` counts instructions alone,
of one call at a time, and fails when a stage has grown by more than 5 % over what bench/budget.json
says of the dev build; `--short --renew` writes that file. Valgrind runs one thread at a time: how
many calls a loop finds at once differs a little between runs, and so do the counts, by about 2 %.
"""

import json
import shutil
import subprocess

from . import callgrind, load, mcp_client, processes
from .instructions import CountedGateway, stripped
from .machine import ROOT
from .servers import Gateway

DECISION = ROOT / "docs/decisions/0007-the-hot-path-in-numbers.md"
KNOWN = ROOT / "bench/budget.json"
GROWTH, SPREAD = 1.05, 0.25  # of a stage; thousand instructions that differ from run to run
LIBRARY_GROWTH = 1.25  # how the C library copies depends on the processor
LIMITS_FROM = "| stage | thousand instructions |"
CACHE = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"]

MCP = "mcp"
OVER_V1 = 1.25  # of a call through /mcp

#: The first that a file's path holds decides.
STAGES = (
    ("parse", ("src/json/parse", "src/json/element", "src/json/single_pass")),
    ("schema", ("src/json/schema/",)),
    ("members, texts", ("src/json/",)),
    ("http", ("src/net/http/", "src/net/codec/")),
    ("websocket", ("src/net/websocket/",)),
    ("sockets, loop", ("src/net/",)),
    ("digest, ledger", ("src/core/ledger/", "src/crypto/")),
    ("audit", ("src/core/audit/",)),
    ("resolve, policy", ("src/core/registry/", "src/core/policy/", "src/trust/")),
    ("pipeline, tasks", ("src/core/", "src/base/task/")),
    ("request, answer", ("src/adapters/rtp/",)),
    ("device", ("src/adapters/clawseed/",)),
    (MCP, ("src/adapters/mcp/",)),
    ("rest of crab", ("/src/",)),
)
LIBRARY = "libraries"

#: Where debug information names a header of the library: what is inlined first in a function.
NAMESPACES = (
    ("crab::json::Schema", "schema"),
    ("crab::json::", "members, texts"),
    ("crab::net::", "http"),
    ("crab::core::", "pipeline, tasks"),
    ("crab::rtp::", "request, answer"),
    ("crab::clawseed::", "device"),
    ("crab::mcp::", MCP),
    ("crab::", "rest of crab"),
)


def stage_of(function, file):
    """`function` as people write it."""
    if function.startswith("simdjson::"):
        return "parse"
    for stage, parts in STAGES:
        if any(part in file for part in parts):
            return stage
    return next((stage for start, stage in NAMESPACES if function.startswith(start)), LIBRARY)


def limits(text):
    """Of each stage, in thousand instructions, as the decision record's table has them."""
    rows = text[text.index(LIMITS_FROM) :].split("\n\n")[0].splitlines()[2:]
    cells = ([cell.strip() for cell in row.strip("|").split("|")] for row in rows)
    return {row[0]: float(row[1]) for row in cells}


def run(build, options, report, say):
    if options.short:
        return check_growth(build, options, report, say)
    in_flight = options.in_flight[-1]
    say(f"callgrind, {in_flight} in flight")
    loop, others = counted(build, in_flight, (1, 4) if options.quick else (3, 30), CACHE)
    allowed = limits(DECISION.read_text(encoding="utf-8"))
    for stage in allowed:
        found = loop["stages"].get(stage, {"Ir": 0.0, "I1mr": 0.0})
        report.row(
            stage=stage, thousand_instructions=found["Ir"] / 1000, instruction_misses=found["I1mr"]
        )
        report.goal(stage, found["Ir"] / 1000, allowed[stage], "thousand instructions")
    report.row(stage="other threads", thousand_instructions=others / 1000)
    report.goal("instructions, event loop", loop["Ir"] / 1000, 22.0, "thousand")
    report.goal("misses of the instruction cache", loop["I1mr"], 700.0)
    compare_mcp(build, in_flight, (1, 4) if options.quick else (3, 30), loop, report, say)
    for name, function in loop["dearest"]:
        report.notes.append(f"{function / 1000:6.2f} thousand  {name}")
    say("counting locks, clock readings, copies and system calls")
    asked = asked_of_the_system(build, in_flight, (0.5, 3))
    for name, limit in (("locks", 2.0), ("clock readings", 5.0), ("bytes copied", 2560.0)):
        report.goal(name, asked[name], limit)
    report.notes.append(f"system calls of the event loop: {asked['system calls']:.2f}")


def check_growth(build, options, report, say):
    say("callgrind, one call at a time")
    loop, _ = counted(build, 1, (0.5, 3), [])
    found = {stage: round(each["Ir"] / 1000, 2) for stage, each in loop["stages"].items()}
    if options.renew:
        KNOWN.write_text(json.dumps(found, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        return
    known = json.loads(KNOWN.read_text(encoding="utf-8"))
    for stage, before in known.items():
        growth = LIBRARY_GROWTH if stage == LIBRARY else GROWTH
        allowed = before * growth + SPREAD
        report.goal(stage, found.get(stage, 0.0), allowed, "thousand instructions")
    compare_mcp(build, 1, (0.5, 3), loop, report, say)
    if report.missed():
        report.notes.append(
            "A stage has grown. If that is meant: bench/run budget --short --renew "
            f"--build-dir {options.build_dir}, and say why in the commit."
        )
        report.notes += [f"{spent / 1000:6.2f} thousand  {name}" for name, spent in loop["dearest"]]


def compare_mcp(build, in_flight, seconds, v1, report, say):
    """What the same call costs through /mcp, in both eras, beside `v1`, by stage."""
    for version in (mcp_client.MODERN, mcp_client.LEGACY):
        say(f"callgrind, /mcp {version}")
        loop, _ = counted(build, in_flight, seconds, [], version)
        report.goal(
            f"instructions of /mcp {version} over POST /v1/tools/call",
            loop["Ir"] / v1["Ir"],
            OVER_V1,
            "x",
        )
        more = {
            stage: each["Ir"] - v1["stages"].get(stage, {"Ir": 0.0})["Ir"]
            for stage, each in loop["stages"].items()
        }
        told = (f"{stage} {count / 1000:+.1f}" for stage, count in sorted(more.items()))
        report.notes.append(f"/mcp {version}, thousand instructions: {', '.join(told)}")


def counted(build, in_flight, seconds, settings, version=""):
    """What the event loop executes for a call, and what all other threads do, in instructions.
    `version`: the call comes through /mcp in this revision, else as POST /v1/tools/call."""
    valgrind = shutil.which("valgrind")
    if not valgrind:
        raise RuntimeError("valgrind is missing; install the package valgrind")
    client, program = build.executable("bench_load"), build.executable("crab")
    gateway = ProfiledGateway(build, stripped(build, program), valgrind)
    gateway.settings = settings
    with gateway:
        # What only the first calls do is in the first dump, which nobody reads.
        lengths = (seconds[0], *seconds)
        answered = [
            gateway.after(relayed(gateway, client, in_flight, each, version)) for each in lengths
        ]
        (few, few_calls), (many, many_calls) = answered[1:]
    calls = many_calls - few_calls
    more = {
        thread: profile.total() - (few[thread].total() if thread in few else 0)
        for thread, profile in many.items()
    }
    busiest = max(more, key=more.get)
    loop = per_call(many[busiest], few[busiest], calls, callgrind.files_of(program))
    return loop, (sum(more.values()) - more[busiest]) / calls


class ProfiledGateway(CountedGateway):
    settings = ()
    dumps = 0

    def command(self):
        words = super().command()
        ours = [*self.settings, "--separate-threads=yes", "--demangle=no"]
        return [words[0], words[1], *ours, *words[2:]]

    def after(self, answered):
        """What each thread executed since the last time, and the calls answered meanwhile."""
        done = subprocess.run(
            ["callgrind_control", "--dump", str(self.process.pid)], capture_output=True, text=True
        )
        if done.returncode != 0:
            raise RuntimeError(f"callgrind_control: {done.stdout}{done.stderr}")
        self.dumps += 1
        return callgrind.read(self.folder, f"counts.{self.dumps}"), answered


def relayed(gateway, client, in_flight, seconds, version=""):
    words, _ = gateway.load_options("tcp", -(-in_flight // 64))
    if version:
        words = [*words[2:], *mcp_client.load_options(gateway, version)]
    timing = ["--in-flight", in_flight, "--warm-up", 0, "--seconds", seconds]
    return load.run(client, None, "calls", *words, *timing)["answered"]


def per_call(many, few, calls, files):
    """Of one thread: all it executed in a call, by stage, and its dearest functions."""
    at = {event: many.events.index(event) for event in many.events if event in ("Ir", "I1mr")}
    stages, functions, place = {}, {}, {}
    words = dict(zip(many.costs, callgrind.readable(many.costs)))
    for name, costs in many.costs.items():
        before = few.costs.get(name, [0] * len(costs))
        spent = {event: (costs[i] - before[i]) / calls for event, i in at.items()}
        stage = stage_of(words[name], files.get(name, ""))
        for event, count in spent.items():
            stages.setdefault(stage, dict.fromkeys(at, 0.0))[event] += count
        functions[name] = spent["Ir"]
        place[name] = stage
    dearest = sorted(functions, key=lambda name: -functions[name])[:60]
    return {
        **{event: sum(each[event] for each in stages.values()) for event in at},
        "stages": stages,
        "dearest": [(f"{place[name]}: {words[name]}", functions[name]) for name in dearest],
    }


class AskingGateway(Gateway):
    """A gateway whose calls of the C library are counted; the loop's once it has ended."""

    def __init__(self, build, program, counters):
        super().__init__(build)
        self.program, self.counters = program, counters

    def command(self):
        self.environment["CRAB_COUNTS"] = str(self.folder / "asked")
        self.environment["LD_PRELOAD"] = str(self.counters)
        return super().command()

    def end(self):
        processes.stop(self.process, patience=60)
        rows = [
            [int(word) for word in line.split()]
            for line in (self.folder / "asked").read_text(encoding="utf-8").splitlines()
        ]
        return max(rows)  # the thread that waited most for events


def asked_of_the_system(build, in_flight, lengths):
    client, program = build.executable("bench_load"), build.executable("crab")
    counters, found = build.library("crab_counters"), []
    for seconds in lengths:
        with AskingGateway(build, program, counters) as gateway:
            answered = relayed(gateway, client, in_flight, seconds)
            found.append((gateway.end(), answered))
    (few, few_calls), (many, many_calls) = found
    names = ("waits", "locks", "clock readings", "bytes copied", "system calls")
    calls = many_calls - few_calls
    return {name: (many[i] - few[i]) / calls for i, name in enumerate(names)}
