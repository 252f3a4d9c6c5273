"""bench/rtp: calls to a tool host behind the gateway, over a Unix socket and over mutual TLS,
beside nginx as a plain reverse proxy and beside the host alone."""

import json
import sys
from contextlib import ExitStack

from . import http_client, load, machine, micro
from .processes import Unavailable
from .servers import Gateway, Nginx, ToolHost

HANDSHAKE_MS = 10.0
DURABLE_CALLS = 20_000


class GatewayWithHost(Gateway):
    """The gateway with one tool host on a Unix socket."""

    def __init__(self, build, core, host):
        super().__init__(build, core)
        self.configuration = f"hosts: [{{name: bench, unix: \"{host.socket}\"}}]\n"


class GatewayWithPeer(Gateway):
    """The gateway with one paired tool host, which answers over mutual TLS: nginx with the host's
    certificate in front of it."""

    def __init__(self, build, core, host, stack):
        super().__init__(build, core)
        self.host, self.stack = host, stack

    def start(self):
        super().start()
        sys.path.insert(0, str(machine.ROOT / "tests" / "support"))
        from pairing_remote import PairingRemote

        remote = self.stack.enter_context(
            PairingRemote(self._ask("GET", "/v1/identity")["public_key_ed25519"], "bench")
        )
        self._ask(
            "POST",
            "/v1/pairings",
            {"component_type": "tool_host", "component_id": "bench", "endpoint": remote.endpoint},
        )
        front = self.stack.enter_context(TlsFront(self.core, self.host, remote))
        self._ask(
            "PATCH", "/v1/peers/tool_host/bench", {"tool_url": f"https://127.0.0.1:{front.port}"}
        )

    def _ask(self, method, path, body=None):
        connection = http_client.UnixConnection(self.admin, timeout=20)
        try:
            status, text = http_client.request(
                connection, method, path, json.dumps(body) if body else None
            )
        finally:
            connection.close()
        if status != 200:
            raise RuntimeError(f"{method} {path}: {status} {text}")
        return json.loads(text)


class HostProxy(Nginx):
    """nginx between the callers' Unix socket and the host's."""

    name = "nginx"

    def __init__(self, core, host):
        super().__init__(core, f"unix:{host.socket}")


class TlsFront(HostProxy):
    """What a paired host shows: TLS 1.3 with its own certificate, for the gateway of its authority
    only."""

    def __init__(self, core, host, remote):
        super().__init__(core, host)
        self.remote = remote

    def listen_lines(self):
        for name, text in (
            ("cert.pem", self.remote.certificate_pem),
            ("ca.pem", self.remote.chain_pem),
            ("key.pem", (self.remote.folder / "csr.key").read_text()),
        ):
            (self.folder / name).write_text(text)
        return (
            f"listen 127.0.0.1:{self.port} ssl; ssl_protocols TLSv1.3; ssl_certificate "
            f"{self.folder}/cert.pem; ssl_certificate_key {self.folder}/key.pem; "
            f"ssl_client_certificate {self.folder}/ca.pem; ssl_verify_client on; "
            f"ssl_session_tickets off;"
        )


def run(build, options, report, say):
    program = build.executable("bench_load")
    core = machine.cores(options.cores)[0]
    top = max(options.in_flight)
    with ExitStack() as stack:
        host = stack.enter_context(ToolHost(program, core))
        makers = {
            "direct unix": lambda: host,
            "nginx unix": lambda: HostProxy(core, host),
            "gateway unix": lambda: GatewayWithHost(build, core, host),
            "gateway mtls": lambda: GatewayWithPeer(build, core, host, stack),
        }
        servers = {}
        for name, make in makers.items():
            say(f"starting {name}")
            try:
                servers[name] = make() if name == "direct unix" else stack.enter_context(make())
                servers[name].wait_for_tool()
            except (Unavailable, RuntimeError) as reason:
                report.skip(name, str(reason))
                servers.pop(name, None)
        results = measure(program, servers, options, report, say)
    print_rows(results, report)
    goals(results, top, report)
    durable(build, program, top, options, report, say)
    micro_goals(build, options, report, say)


def measure(program, servers, options, report, say):
    load_core = machine.cores(options.cores)[1]
    warm_up, seconds, rounds = (
        (0.2, 0.5, 1) if options.quick else (0.4, options.seconds, options.rounds)
    )
    report.settings.update(rounds=rounds, seconds=seconds, cores=options.cores)

    def sample(name, in_flight):
        server = servers[name]
        return load.run(
            program,
            load_core,
            "calls",
            "--target",
            "http",
            "--connect",
            f"unix:{server.callers}",
            "--tool",
            "echo",
            "--in-flight",
            in_flight,
            "--warm-up",
            warm_up,
            "--seconds",
            seconds,
            "--server-pid",
            server.pid,
        )

    return load.in_rounds(rounds, options.in_flight, servers, sample, report, say)


def print_rows(results, report):
    for (name, in_flight), result in sorted(results.items(), key=lambda item: item[0][1]):
        nginx = results.get(("nginx unix", in_flight))
        load.add_row(
            report,
            name,
            in_flight,
            result,
            per_nginx=result["cpu_us"] / nginx["cpu_us"] if nginx else None,
        )


def goals(results, top, report):
    def over(name, other):
        mine, theirs = results.get((name, top)), results.get((other, top))
        return (
            mine["cpu_us"] / theirs["cpu_us"]
            if mine and theirs and not mine["failures"] and not theirs["failures"]
            else None
        )

    report.goal(
        f"gateway's CPU per call over nginx's, Unix sockets, at {top} in flight",
        over("gateway unix", "nginx unix"),
        1.5,
        "x",
    )
    report.goal(
        f"gateway's CPU per call over mutual TLS over its own over a Unix socket, at {top} in "
        f"flight",
        over("gateway mtls", "gateway unix"),
        1.3,
        "x",
    )


def durable(build, program, in_flight, options, report, say):
    """Calls with side effects, which are recorded before they run, on all cores of the machine and
    the disk of TMPDIR."""
    say("calls with side effects")
    goal = (
        f"time per call with side effects at {in_flight} in flight (20 000/s), on the disk of "
        f"TMPDIR",
        1e6 / DURABLE_CALLS,
        "us",
    )
    try:
        with ToolHost(program) as host, GatewayWithHost(build, None, host) as gateway:
            gateway.wait_for_tool()
            found = load.run(
                program,
                None,
                "calls",
                "--target",
                "http",
                "--connect",
                f"unix:{gateway.callers}",
                "--tool",
                "set",
                "--in-flight",
                in_flight,
                "--warm-up",
                0.5,
                "--seconds",
                0.5 if options.quick else 3,
                "--server-pid",
                gateway.pid,
            )
    except (Unavailable, RuntimeError) as reason:
        report.skip("calls with side effects", str(reason))
        return report.goal(goal[0], None, *goal[1:])
    report.row(
        variant="gateway unix, side effects",
        in_flight=in_flight,
        cpu_us=found["cpu_us"],
        calls_per_s=round(found["rate"]),
        p50_us=found["p50_us"],
        p99_us=found["p99_us"],
        failures=found["failures"],
    )
    report.goal(
        goal[0], 1e6 / found["rate"] if found["rate"] and not found["failures"] else None, *goal[1:]
    )


def micro_goals(build, options, report, say):
    """A whole handshake without its sockets: the module's own program."""
    seconds = 0.05 if options.quick else 0.5
    say("pairing_bench")
    timings = micro.timings_of(build.executable("pairing_bench"), seconds, report)
    report.goal(
        "CPU of a pairing handshake, both sides",
        max(timings.values()) / 1e6 if timings else None,
        HANDSHAKE_MS,
        "ms",
    )
