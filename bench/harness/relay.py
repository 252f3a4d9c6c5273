"""bench/relay: the gateway's whole path of a call beside the floor, nats-server and nginx, in one
run, interleaved."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from . import http_client, load, machine
from .processes import Unavailable
from .report import added
from .servers import Floor, Gateway, Nats, Nginx, Server

CALLS_PER_DEVICE = 64  # the default limit of calls out to one device
LOAD_BUSY_LIMIT = 0.5  # of its core
QUIET_FLOOR_US = 2000.0  # a floor with a longer p99 says that the machine was busy


@dataclass(frozen=True)
class Variant:
    """One line of the table at each number of calls in flight."""

    name: str
    server: Server
    transport: str
    extra: tuple = ()


def variants_of(servers):
    found = []
    for server in servers:
        if server.name == "nats":
            found += [
                Variant("nats N connections", server, "tcp"),
                Variant("nats multiplexed", server, "tcp", ("--target", "nats-mux")),
            ]
            continue
        found += [
            Variant(f"{server.name} {transport}", server, transport)
            for transport in server.transports
        ]
        if server.name in ("floor", Gateway.name):
            found.append(Variant(f"{server.name} healthz", server, "tcp", ("--get", "/healthz")))
    return found


class OtherGateway(Gateway):
    """The gateway of another commit, for what a change costs: the ratio in one run."""

    name = "other gateway"

    def __init__(self, build, core, program):
        super().__init__(build, core)
        self.program = Path(program).resolve()


class RelayBench:
    def __init__(self, build, options, report, say):
        self.options, self.report, self.say = options, report, say
        self.build = build
        self.program = build.executable("bench_load")
        self.cores = machine.cores(options.cores)
        self.warm_up, self.seconds, self.rounds = (
            (0.2, 0.5, 1) if options.quick else (0.4, options.seconds, options.rounds)
        )
        report.settings.update(
            rounds=self.rounds,
            seconds=self.seconds,
            cores=options.cores,
            devices=options.devices or "auto",
        )

    def run(self):
        with ExitStack() as stack:
            servers = self._start_all(stack, self.cores[0])
            results = self._closed_loop(variants_of(servers))
        self._print_rows(results)
        self._cpu_goals(
            {(variant.name, in_flight): result for (variant, in_flight), result in results.items()}
        )
        try:
            self._half_load()
        except RuntimeError as failure:
            self.report.skip("half load", str(failure))
        self._allocations()

    def _start_all(self, stack, core):
        servers = []
        makers = (
            lambda: Floor(self.build, core),
            lambda: Gateway(self.build, core),
            lambda: Nats(core),
            lambda: Nginx(core),
        )
        names = ("floor", "gateway", "nats", "nginx")
        if self.options.against:
            makers += (lambda: OtherGateway(self.build, core, self.options.against),)
            names += (OtherGateway.name,)
        for name, make in zip(names, makers):
            try:
                servers.append(stack.enter_context(make()))
            except (Unavailable, RuntimeError) as reason:
                self.report.skip(name, str(reason))
        return servers

    def _measure(self, variant, in_flight, core, *words, seconds=None):
        devices = self.options.devices or -(-in_flight // CALLS_PER_DEVICE)
        base, descriptors = variant.server.load_options(variant.transport, devices)
        extra = variant.extra
        if "--get" in extra:  # no device takes part
            base = [
                word
                for i, word in enumerate(base)
                if "--device" not in str(word) and (i == 0 or "--device" not in str(base[i - 1]))
            ]
        if "--target" in extra:
            base = base[2:]
        return load.run(
            self.program,
            core,
            "calls",
            *base,
            *extra,
            "--in-flight",
            in_flight,
            "--warm-up",
            self.warm_up,
            "--seconds",
            seconds or self.seconds,
            "--server-pid",
            variant.server.pid,
            *words,
            pass_fds=descriptors,
        )

    def _closed_loop(self, variants):
        return load.in_rounds(
            self.rounds,
            self.options.in_flight,
            variants,
            lambda variant, in_flight: self._measure(variant, in_flight, self.cores[1]),
            self.report,
            self.say,
            name_of=lambda variant: variant.name,
        )

    def _print_rows(self, results):
        by_name = {
            (variant.name, in_flight): result for (variant, in_flight), result in results.items()
        }
        for (variant, in_flight), result in sorted(results.items(), key=lambda item: item[0][1]):
            floor = by_name.get((f"floor {variant.transport}", in_flight))
            load.add_row(
                self.report, variant.name, in_flight, result, per_floor=ratio(result, floor)
            )

    def _cpu_goals(self, results):
        top = max(self.options.in_flight)

        def cpu(name):
            result = results.get((name, top), {"failures": 1})
            return (
                None if result["failures"] else result["cpu_us"]
            )  # a refusal is cheap: it must not help a goal

        def goal(name, value, other, limit):
            self.report.goal(
                f"{name} at {top} in flight",
                value / other if value is not None and other else None,
                limit,
                "x",
            )

        goal(
            "gateway's CPU per call over the floor's, TCP",
            cpu("gateway tcp"),
            cpu("floor tcp"),
            2.0,
        )
        goal(
            "gateway's CPU per call over the floor's, Unix socket",
            cpu("gateway unix"),
            cpu("floor unix"),
            2.0,
        )
        goal(
            "gateway's CPU per call over nats-server's with N connections",
            cpu("gateway tcp"),
            cpu("nats N connections"),
            0.6,
        )
        if self.options.against:
            for transport in Gateway.transports:
                this, other = (cpu(f"{one.name} {transport}") for one in (Gateway, OtherGateway))
                goal(f"gateway's CPU per call over the other's, {transport}", this, other, 1.0)
        whole, front = cpu("gateway tcp"), cpu("gateway healthz")
        goal(
            "device link alone, multiplexed (gateway tcp less healthz), over nats-server "
            "multiplexed",
            added(whole, front),
            cpu("nats multiplexed"),
            1.0,
        )
        goal(
            "whole call with N callers over nats-server multiplexed (unlike things; see "
            "docs/how_to/benchmarks.md)",
            cpu("gateway tcp"),
            cpu("nats multiplexed"),
            1.0,
        )

    def _half_load(self):
        """p99 at a fixed rate on two cores: half of what the gateway (or, without one, the floor)
        can do there.

        Whatever else runs on the machine only ever adds to a p99, so the quietest of the rounds
        stands for each server.
        """
        server_core, load_core = machine.cores("split")
        in_flight = max(self.options.in_flight)
        with ExitStack() as stack:
            servers = [
                server
                for server in self._start_all(stack, server_core)
                if server.name in ("floor", "gateway")
            ]
            variants = [Variant(f"{server.name} tcp", server, "tcp") for server in servers]
            if not variants:
                raise RuntimeError("neither the floor nor the gateway could be started")
            self.say("half load")
            rate = self._rate_load_can_keep(
                variants[-1],
                in_flight,
                load_core,
                self._measure(variants[-1], in_flight, load_core)["rate"] / 2,
            )
            results = {}
            for _ in range(self.rounds + 2):
                for variant in variants:
                    sample = self._measure(variant, in_flight, load_core, "--rate", f"{rate:.0f}")
                    results[variant.server.name] = min(
                        results.get(variant.server.name, sample),
                        sample,
                        key=lambda found: found["p99_us"],
                    )
        report_half_load(results, rate, self.report)

    def _rate_load_can_keep(self, variant, in_flight, core, rate):
        """`rate`, or less if the load generator would be so busy that its own queue, not the
        server's, made the p99."""
        busy = (
            self._measure(variant, in_flight, core, "--rate", f"{rate:.0f}")["load_cpu_us"]
            * rate
            / 1e6
        )
        if busy <= LOAD_BUSY_LIMIT:
            return rate
        self.report.notes.append(
            f"half load: {rate:,.0f} calls/s would keep the load generator's core {busy:.0%} busy; "
            f"measured at {rate * LOAD_BUSY_LIMIT / busy:,.0f} instead"
        )
        return rate * LOAD_BUSY_LIMIT / busy

    def _allocations(self):
        """Two runs of different length on a gateway that counts: their difference has no set-up in
        it."""
        goal = ("allocations per call", 8.0, "")
        try:
            with Gateway(self.build, self.cores[0], count_allocations=True) as gateway:
                variant, counts = Variant("gateway tcp", gateway, "tcp"), []
                for seconds in (0.3, 1.3):
                    before = self._allocated(gateway)
                    answered = self._measure(
                        variant,
                        min(16, max(self.options.in_flight)),
                        self.cores[1],
                        seconds=seconds,
                    )["answered"]
                    counts.append((answered, self._allocated(gateway) - before))
            (calls, allocated), (more_calls, more_allocated) = counts
            self.report.goal(
                goal[0], (more_allocated - allocated) / (more_calls - calls), *goal[1:]
            )
        except (Unavailable, RuntimeError, KeyError):  # KeyError: this build does not count
            self.report.goal(goal[0], None, *goal[1:])

    @staticmethod
    def _allocated(gateway):
        return http_client.metrics(gateway.admin)[0]["crab_allocations_total"]


def report_half_load(results, rate, report):
    """`results` by server; either may be missing."""
    floor, gateway = results.get("floor"), results.get("gateway")
    for name, result in results.items():
        report.row(
            variant=f"{name} half load",
            in_flight=f"{rate:,.0f}/s",
            cpu_us=result["cpu_us"],
            per_floor=ratio(result, floor),
            calls_per_s=round(result["rate"]),
            p50_us=result["p50_us"],
            p99_us=result["p99_us"],
            failures=result["failures"],
        )
    quiet = floor and floor["p99_us"] <= QUIET_FLOOR_US
    whole = gateway["p99_us"] if quiet and gateway else None
    report.goal(
        "p99 added to the floor's at half load",
        added(whole, floor["p99_us"] if floor else None),
        200.0,
        "us",
    )


def ratio(result, floor):
    return result["cpu_us"] / floor["cpu_us"] if floor else None
