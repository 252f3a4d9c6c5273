"""bench/fleet: calls to a device of another node beside calls to one of the same, and calls that
are recorded in PostgreSQL."""

import json
import subprocess
import sys
from contextlib import ExitStack

from . import load, processes
from .machine import ROOT
from .report import added
from .servers import Gateway

LOCAL, AT_HOME, AT_OWNER = "local", "forwarded, home's CPU", "forwarded, owner's CPU"
RECORDED = "local, recorded"


class Node(Gateway):
    """A gateway of the fleet."""

    def __init__(self, build, name, fleet, recorded):
        super().__init__(build)
        self.name = name
        tools = [{"match": "*", "side_effects": True}] if recorded else []
        section = {"fleet": {**fleet, "node_name": name}, "tools": tools}
        # JSON is YAML.
        self.configuration = "".join(
            f"{key}: {json.dumps(value)}\n" for key, value in section.items()
        )


class Fleet:
    """Two nodes with what they stand on, and a device at the second."""

    def __init__(self, build, stack, recorded):
        from support.nats import NatsServer
        from support.postgres import Postgres

        database = stack.enter_context(Postgres())
        nats = stack.enter_context(NatsServer())
        (database.folder / "dsn").write_text(database.dsn)
        (database.folder / "key").write_text("5a" * 32)
        fleet = {
            "name": "bench",
            "key_file": str(database.folder / "key"),
            "postgres": {"dsn_file": str(database.folder / "dsn"), "require_sync": False},
            "nats": {"urls": [nats.url]},
        }
        self.home, self.owner = (
            stack.enter_context(Node(build, name, fleet, recorded)) for name in ("home", "owner")
        )
        self._device = processes.start(
            [
                *(build.executable("bench_load"), "device", "--device", self.owner.public),
                *("--token", self.owner.token),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        stack.callback(processes.stop, self._device)
        processes.line_with(self._device, "devices ready", 10)
        for node in (self.owner, self.home):
            node.wait_for_tool()


def run(build, options, report, say):
    sys.path.insert(0, str(ROOT / "tests/conformance"))
    program = build.executable("bench_load")
    warm_up, seconds, rounds = (
        (0.3, 0.5, 1) if options.quick else (0.5, options.seconds, options.rounds)
    )
    report.settings.update(rounds=rounds, seconds=seconds)

    def calls(node, pid, in_flight):
        return load.run(
            program,
            None,
            *("calls", "--target", "http", "--connect", node.public, "--token", node.token),
            *("--in-flight", in_flight, "--warm-up", warm_up, "--seconds", seconds),
            *("--server-pid", pid),
        )

    with ExitStack() as stack:
        fleet = Fleet(build, stack, recorded=False)
        where = {
            LOCAL: (fleet.owner, fleet.owner.pid),
            AT_HOME: (fleet.home, fleet.home.pid),
            AT_OWNER: (fleet.home, fleet.owner.pid),
        }
        results = load.in_rounds(
            rounds,
            options.in_flight,
            list(where),
            lambda variant, in_flight: calls(*where[variant], in_flight),
            report,
            say,
        )
    with ExitStack() as stack:
        fleet = Fleet(build, stack, recorded=True)
        results |= load.in_rounds(
            rounds,
            options.in_flight,
            [RECORDED],
            lambda _, in_flight: calls(fleet.owner, fleet.owner.pid, in_flight),
            report,
            say,
        )
    print_rows(results, report)
    set_goals(results, options.in_flight, report)


def print_rows(results, report):
    for (variant, in_flight), result in sorted(results.items(), key=lambda item: item[0][1]):
        load.add_row(report, variant, in_flight, result)


def set_goals(results, in_flight, report):
    few, many = min(in_flight), max(in_flight)

    def figure(variant, count, name):
        result = results.get((variant, count))
        return result[name] if result and not result["failures"] else None

    local = figure(LOCAL, many, "cpu_us")
    parts = [figure(variant, many, "cpu_us") for variant in (AT_HOME, AT_OWNER)]
    whole = None if local is None or None in parts else sum(parts) / local
    report.goal(
        f"CPU of both nodes per forwarded call over that of a local one, {many} in flight",
        whole,
        1.8,
        "x",
    )
    p50 = [figure(variant, few, "p50_us") for variant in (AT_HOME, LOCAL)]
    report.goal(
        f"added by the way to the other node, p50, {few} in flight",
        added(*p50),
        250,
        "us",
    )
    rate = figure(RECORDED, many, "rate")
    report.goal(
        f"time for each recorded call, {many} in flight", 1e6 / rate if rate else None, 100, "us"
    )
