"""bench/mcp: what `/mcp` costs beside `POST /v1/tools/call`, an MCP server behind the gateway
beside other gateways, long lists, idle sessions."""

import json
import resource
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median
from subprocess import DEVNULL

from . import http_client, load, machine, mcp_client, processes
from .idle import memory
from .mcp_client import LEGACY, MODERN, McpConnection
from .npm_gateways import McpProxy, Supergateway
from .processes import Unavailable, cpu_ns
from .relay import CALLS_PER_DEVICE
from .report import added
from .servers import Floor, Gateway, Server

OVER_V1 = 1.25
ADDED_US = 100.0
TIMES_OTHERS = 20.0
STDIO_US = 60.0
STDIO_IN_FLIGHT = 16
FIRST_PAGE_MS = 2.0
TOOLS = 10_000
SESSION_KIB = 4.0
SESSIONS_PER_TOKEN = 60  # below the default limit of sessions of one principal


class GatewayWithUpstream(Gateway):
    """The gateway with one MCP server on standard input and output."""

    name = "gateway"

    def __init__(self, build, core, words):
        super().__init__(build, core)
        server = {"command": str(words[0]), "args": [str(word) for word in words[1:]]}
        self.configuration = "mcp: " + json.dumps({"servers": {"bench": server}}) + "\n"

    def load_options(self, *_):
        return [
            "--target",
            "mcp",
            "--connect",
            self.public,
            "--token",
            self.token,
            "--tool",
            "echo",
        ], ()


@dataclass(frozen=True)
class Variant:
    """One line of the table at each number of calls in flight."""

    name: str
    server: Server
    extra: tuple = ()  # options of the load
    version: str = ""  # of `/mcp`; one with sessions gets a new one for each run
    in_flight: tuple = field(default=())  # other numbers are not measured; empty: all are


def address_of(gateway):
    return gateway.public.removeprefix("tcp:")


def of_revision(version, session=""):
    words = ("--target", "mcp", "--version", version)
    return words + (("--session", session) if session else ())


def session_of(gateway):
    return mcp_client.open_session(address_of(gateway), gateway.token)


def run(build, options, report, say):
    McpBench(build, options, report, say).run()


class McpBench:
    def __init__(self, build, options, report, say):
        self.options, self.report, self.say, self.build = options, report, say, build
        self.program = build.executable("bench_load")
        self.cores = machine.cores(options.cores)
        self.warm_up, self.seconds, self.rounds = (
            (0.2, 0.5, 1) if options.quick else (0.4, options.seconds, options.rounds)
        )
        report.settings.update(rounds=self.rounds, seconds=self.seconds, cores=options.cores)

    def run(self):
        with ExitStack() as stack:
            found = self._closed_loop(self._variants(stack))
        self._print_rows(found)
        self._goals_of_devices(found)
        self._goals_of_upstreams(found)
        self._lists()
        self._sessions()

    # Calls

    def _variants(self, stack):
        gateway = stack.enter_context(Gateway(self.build, self.cores[0]))
        variants = [
            Variant("POST /v1/tools/call", gateway),
            Variant("/mcp 2026-07-28", gateway, version=MODERN),
            Variant("/mcp 2025-11-25", gateway, version=LEGACY),
            Variant("floor", stack.enter_context(Floor(self.build, self.cores[0]))),
        ]
        words = [self.program, "mcp-server"]
        behind = stack.enter_context(GatewayWithUpstream(self.build, self.cores[0], words))
        variants += [
            Variant("/mcp 2026-07-28, stdio", behind, version=MODERN),
            Variant("/mcp 2025-11-25, stdio", behind, version=LEGACY),
        ]
        for make in (McpProxy, Supergateway):
            try:
                other = stack.enter_context(make(words, self.cores[0]))
            except (Unavailable, RuntimeError) as reason:
                self.report.skip(make.package, str(reason))
                continue
            variants.append(Variant(other.name, other, of_revision(LEGACY, other.session)))
        return variants

    def _measure(self, variant, in_flight):
        base, descriptors = variant.server.load_options("tcp", -(-in_flight // CALLS_PER_DEVICE))
        extra, session = variant.extra, ""
        if variant.version:
            # calls of an earlier run may still be under way in its session, which has a limit
            session = session_of(variant.server) if variant.version == LEGACY else ""
            extra = of_revision(variant.version, session)
        if "--target" in extra:
            base = base[2:]
        timing = ["--in-flight", in_flight, "--warm-up", self.warm_up, "--seconds", self.seconds]
        found = load.run(
            self.program,
            self.cores[1],
            "calls",
            *base,
            *extra,
            *timing,
            "--server-pid",
            variant.server.pid,
            pass_fds=descriptors,
        )
        if session:
            mcp_client.end_session(address_of(variant.server), variant.server.token, session)
        return found

    def _closed_loop(self, variants):
        found = load.in_rounds(
            self.rounds,
            sorted({*self.options.in_flight, 1, STDIO_IN_FLIGHT}),
            variants,
            self._measure,
            self.report,
            self.say,
            name_of=lambda variant: variant.name,
        )
        return {(variant.name, in_flight): result for (variant, in_flight), result in found.items()}

    def _print_rows(self, found):
        for (name, in_flight), result in sorted(found.items(), key=lambda item: item[0][1]):
            v1 = found.get(("POST /v1/tools/call", in_flight))
            load.add_row(
                self.report,
                name,
                in_flight,
                result,
                per_v1=result["cpu_us"] / v1["cpu_us"] if v1 else None,
            )

    def _goals_of_devices(self, found):
        for version in (MODERN, LEGACY):
            for in_flight in self.options.in_flight:
                mine = figure(found, f"/mcp {version}", in_flight)
                v1 = figure(found, "POST /v1/tools/call", in_flight)
                self.report.goal(
                    f"CPU per call of /mcp {version} over POST /v1/tools/call, {in_flight} at once",
                    mine / v1 if mine and v1 else None,
                    OVER_V1,
                    "x",
                )
            mine = figure(found, f"/mcp {version}", 1, "p50_us")
            floor = figure(found, "floor", 1, "p50_us")
            self.report.goal(
                f"p50 added to the floor's by /mcp {version}, 1 in flight",
                added(mine, floor),
                ADDED_US,
                "us",
            )

    def _goals_of_upstreams(self, found):
        for version in (MODERN, LEGACY):
            self.report.goal(
                f"CPU per call of a stdio upstream, {version}, {STDIO_IN_FLIGHT} in flight",
                figure(found, f"/mcp {version}, stdio", STDIO_IN_FLIGHT),
                STDIO_US,
                "us",
            )
        top = max(self.options.in_flight)
        mine = figure(found, "/mcp 2025-11-25, stdio", top)
        for name in (McpProxy.package, Supergateway.package):
            other = figure(found, name, top)
            self.report.goal(
                f"CPU per call, {TIMES_OTHERS:.0f} times, over that of {name}, {top} in flight",
                TIMES_OTHERS * mine / other if mine and other else None,
                1.0,
                "x",
            )

    # Lists

    def _lists(self):
        self.say(f"{TOOLS} tools")
        words = [self.program, "mcp-server", "--tools", TOOLS - 1]
        with GatewayWithUpstream(self.build, self.cores[0], words) as gateway:
            self._await_tools(gateway)
            fresh = [
                self._page_ms(gateway, gateway.pair(f"lists{i}", "caller"), 1)[0] for i in range(5)
            ]
            before = cpu_ns(gateway.pid)
            count = 40 if self.options.quick else 400
            again = self._page_ms(gateway, gateway.token, count)
            cpu_us = (cpu_ns(gateway.pid) - before) / count / 1000
            changed = [self._page_after_change_ms(gateway) for _ in range(5)]
        self.report.row(
            variant=f"tools/list, {TOOLS} tools, first page",
            cpu_us=cpu_us,
            p50_us=median(again) * 1000,
        )
        self.report.goal(
            f"first page of {TOOLS} tools, nobody has listed before",
            max(fresh),
            FIRST_PAGE_MS,
            "ms",
        )
        self.report.goal(
            f"first page of {TOOLS} tools, nothing has changed", median(again), FIRST_PAGE_MS, "ms"
        )
        self.report.goal(
            f"first page of {TOOLS} tools after a change of them",
            median(changed),
            FIRST_PAGE_MS,
            "ms",
        )

    def _page_after_change_ms(self, gateway):
        """Of the first list after a device has come with tools of its own."""
        names = [f'"echo{i}"' for i in range(2)]  # with one device only it would be "echo" again
        words = [self.program, "device", "--device", gateway.public, "--token", gateway.token]
        device = processes.start([*words, "--devices", len(names)], self.cores[1], stdout=DEVNULL)
        try:
            self._await_names(gateway, lambda text: all(name in text for name in names))
            took = self._page_ms(gateway, gateway.token, 1)[0]
        finally:
            processes.stop(device)
        self._await_names(gateway, lambda text: not any(name in text for name in names))
        return took

    @staticmethod
    def _await_names(gateway, are_there, seconds=20):
        """Asks on the administrators' socket, which makes no list for clients of MCP."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            connection = http_client.UnixConnection(gateway.callers)
            try:
                if are_there(http_client.request(connection, "GET", "/v1/tools")[1]):
                    return
            finally:
                connection.close()
            time.sleep(0.05)
        raise RuntimeError(f"the tools of a device did not come or go within {seconds} s")

    @staticmethod
    def _await_tools(gateway, seconds=60):
        end = time.monotonic() + seconds
        connection = McpConnection(address_of(gateway), gateway.token)
        while time.monotonic() < end:
            page = json.loads(connection.modern("tools/list"))["result"]
            if "nextCursor" in page:
                return connection.close()
            time.sleep(0.2)
        raise RuntimeError(f"the gateway did not list {TOOLS} tools within {seconds} s")

    @staticmethod
    def _page_ms(gateway, token, count):
        """How long the first page took, each time."""
        connection = McpConnection(address_of(gateway), token)
        connection.connection.connect()
        took = []
        for _ in range(count):
            began = time.perf_counter()
            connection.modern("tools/list")
            took.append((time.perf_counter() - began) * 1000)
        connection.close()
        return took

    # Sessions

    def _sessions(self):
        count = self.options.count or (300 if self.options.quick else 1000)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # the server inherits it
        for name, streams, limit in (
            ("idle session", False, SESSION_KIB),
            ("idle session with a GET stream", True, None),
        ):
            self.say(name)
            with Gateway(self.build) as gateway:
                per_session = self._memory_per_session(gateway, count, streams)
            self.report.row(variant=name, sessions=count, user_kib=per_session)
            if limit:
                self.report.goal(f"user memory per {name}", per_session, limit, "KiB")
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    def _memory_per_session(self, gateway, count, streams):
        """KiB of anonymous memory. The connections of set-up are closed again."""
        tokens = [
            gateway.pair(f"sessions{i}", "caller") for i in range(-(-count // SESSIONS_PER_TOKEN))
        ]
        for token in tokens:  # what principals cost is not what sessions cost
            mcp_client.open_session(address_of(gateway), token)
        time.sleep(0.5)
        before = memory(gateway.pid)[1]
        held = []
        for i in range(count):
            token = tokens[i // SESSIONS_PER_TOKEN]
            connection = McpConnection(address_of(gateway), token)
            session = connection.open()
            if streams:
                held.append(open_stream(connection, session))
            connection.close()
        time.sleep(1)  # what the server frees late is not counted against it
        after = memory(gateway.pid)[1]
        for stream in held:
            stream.close()
        return (after - before) / count / 1024


def open_stream(connection, session):
    """A GET of the session; the connection it holds."""
    own = McpConnection(connection.connection.host + f":{connection.connection.port}")
    own.connection.request(
        "GET",
        "/mcp",
        headers={
            **connection.fields,
            "Accept": "text/event-stream",
            "Mcp-Session-Id": session,
            "MCP-Protocol-Version": LEGACY,
        },
    )
    answer = own.connection.getresponse()
    if answer.status != 200:
        raise RuntimeError(f"GET of a session: status {answer.status}")
    own.answer = answer  # or its socket would be closed with it
    return own


def figure(found, name, in_flight, which="cpu_us"):
    """None where it was not measured, or calls failed: a refusal is cheap."""
    result = found.get((name, in_flight))
    return None if result is None or result["failures"] else result[which]
