"""bench/grpc: gRPC calls through the gateway to a built-in tool, a device and a command, beside an
echo server of grpc++ that is called directly."""

import subprocess
import time
from contextlib import ExitStack

from . import load, machine, processes
from .servers import Gateway, Server

MISSING = "apt install libgrpc++-dev protobuf-compiler-grpc"
DEVICES = 4  # each takes 64 calls at a time
ARGUMENTS = (
    '{"room":"living room","target_celsius":21.5,"mode":"schedule","days":["mon","tue","wed"],'
    '"start_minute":405,"notify":true,'
    '"note":"Warm the room before everybody gets up."}'
)
STREAM_MIB = 64


class Direct(Server):
    """The echo server of grpc++."""

    name = "grpc++"

    def __init__(self, program, core):
        super().__init__(core)
        self.program = program

    def start(self):
        self.process = processes.start(
            [self.program, "serve"], self.core, stdout=subprocess.PIPE, text=True
        )
        self.address = (
            "127.0.0.1:" + processes.line_with(self.process, "ready ", 10).split("=")[1].strip()
        )


class GatewayWithTools(Gateway):
    """The gateway with a gRPC listener, devices that echo, and commands."""

    configuration = """grpc: {listen: "127.0.0.1:0"}
providers:
  - id: shop
    kind: command
    tools:
      - {name: "true", argv: ["true"], max_concurrency: 16, queue: 512, idempotent: true,
         side_effects: []}
      - {name: zeros, argv: ["head", "-c", "{bytes}", "/dev/zero"],
         input_schema: {type: object, properties: {bytes: {type: integer}}},
         output: {content_type: application/octet-stream, streams: bytes, max_bytes: 2GiB},
         side_effects: []}
"""

    def __init__(self, build, program, core, load_core):
        super().__init__(build, core)
        self.load_program, self.load_core, self.devices = program, load_core, None

    def start(self):
        super().start()
        words = ("device", "--device", self.public, "--token", self.token, "--devices", DEVICES)
        self.devices = processes.start(
            [self.load_program, *words], self.load_core, stdout=subprocess.PIPE, text=True
        )
        processes.line_with(self.devices, "devices ready", 10)
        time.sleep(0.2)  # the last registration is answered after the line

    def read_ready_line(self):
        line = processes.line_with(self.process, " ready ", 10)
        words = dict(word.split("=", 1) for word in line.split() if "=" in word)
        self.public, self.admin, self.address = (
            "tcp:" + words["public"],
            words["admin"],
            words["grpc"],
        )

    def __exit__(self, *error):
        if self.devices:
            processes.stop(self.devices)
        super().__exit__(*error)


def run(build, options, report, say):
    if not build.has("grpc_peer"):
        raise RuntimeError(
            f"this build has no grpc_peer: {MISSING}, then remove the CMake cache of {build.folder}"
        )
    peer, loader = build.executable("grpc_peer"), build.executable("bench_load")
    core, load_core = machine.cores(options.cores)
    top = max(options.in_flight)
    with ExitStack() as stack:
        direct = stack.enter_context(Direct(peer, core))
        gateway = stack.enter_context(GatewayWithTools(build, loader, core, load_core))
        results = measure(peer, variants(direct, gateway), options, load_core, report, say)
        streams = measure_streams(peer, direct, gateway, options, load_core, report, say)
    for (name, in_flight), result in sorted(results.items(), key=lambda item: item[0][1]):
        base = results.get(("direct grpc++", in_flight))
        load.add_row(
            report,
            name,
            in_flight,
            result,
            per_direct=result["cpu_us"] / base["cpu_us"] if base and base["cpu_us"] else None,
        )
    whole, base = results.get(("gateway built-in", top)), results.get(("direct grpc++", top))
    ratio = (
        whole["cpu_us"] / base["cpu_us"]
        if whole and base and base["cpu_us"] and not whole["failures"]
        else None
    )
    report.goal(
        f"CPU of a unary call through the gateway to a built-in tool over that of the direct "
        f"grpc++ server, at {top} in flight",
        ratio,
        0.5,
        "x",
    )
    print_streams(streams, report)
    report.notes.append(
        "the built-in tool is list_devices; the direct server gives its arguments back without "
        "any of the gateway's stages; "
        "CPU of commands is the gateway's own, without the sandbox's processes"
    )


def variants(direct, gateway):
    """name, server, tools, arguments, most calls in flight."""
    echoes = ",".join(f"echo{i}" for i in range(DEVICES))
    return [
        ("direct grpc++", direct, "echo", ARGUMENTS, None),
        ("gateway built-in", gateway, "list_devices", "{}", None),
        ("gateway device", gateway, echoes, ARGUMENTS, None),
        ("gateway command", gateway, "true", "{}", 16),
    ]


def words_of(server, tools, arguments, *more):
    token = ("--token", server.token) if getattr(server, "token", "") else ()
    return (
        "load",
        "--target",
        server.address,
        "--tools",
        tools,
        "--args",
        arguments,
        "--server-pid",
        server.pid,
        *token,
        *more,
    )


def measure(peer, all_variants, options, load_core, report, say):
    warm_up, seconds, rounds = (
        (0.2, 0.5, 1) if options.quick else (0.4, options.seconds, options.rounds)
    )
    report.settings.update(rounds=rounds, seconds=seconds, cores=options.cores)
    by_name = {name: rest for name, *rest in all_variants}

    def sample(name, in_flight):
        server, tools, arguments, most = by_name[name]
        if most and in_flight > most:
            return None
        return load.run(
            peer,
            load_core,
            *words_of(
                server,
                tools,
                arguments,
                "--in-flight",
                in_flight,
                "--warm-up",
                warm_up,
                "--seconds",
                seconds,
            ),
        )

    return load.in_rounds(rounds, options.in_flight, by_name, sample, report, say)


def measure_streams(peer, direct, gateway, options, load_core, report, say):
    size = (4 if options.quick else STREAM_MIB) * 1024 * 1024
    seconds = 1 if options.quick else max(3, options.seconds * 2)
    found = {}
    for name, server, tool, arguments in (
        ("direct grpc++", direct, "zeros", str(size)),
        ("gateway command", gateway, "zeros", f'{{"bytes":{size}}}'),
    ):
        say(f"streams, {name}")
        more = ("--stream", 1, "--in-flight", 1, "--warm-up", 0.2, "--seconds", seconds)
        try:
            found[name] = load.run(peer, load_core, *words_of(server, tool, arguments, *more))
        except RuntimeError as failure:
            report.skip(f"{name} stream", str(failure))
    found["memory_mib"] = peak_mib(gateway.pid)
    return found


def peak_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def print_streams(streams, report):
    base = streams.get("direct grpc++")
    for name in ("direct grpc++", "gateway command"):
        if result := streams.get(name):
            report.row(
                variant=f"{name} stream",
                in_flight=1,
                mib_per_s=result["mib_per_s"],
                cpu_us_per_mib=result["cpu_us_per_mib"],
                failures=result["failures"],
            )
    through = streams.get("gateway command")
    share = (
        base["mib_per_s"] / through["mib_per_s"]
        if base and through and through["mib_per_s"]
        else None
    )
    report.goal("direct throughput of one stream over that through the gateway", share, 2.0, "x")
    report.goal("peak memory of the gateway with streams", streams["memory_mib"], 128.0, "MiB")
