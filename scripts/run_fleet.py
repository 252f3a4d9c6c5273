#!/usr/bin/env python3
"""Starts a fleet of gateways on this machine and shows what it does when one of them dies.

usage: scripts/run_fleet.py [--nodes N] [--once]
  --nodes N   so many gateways, 3 to 9 (default 3)
  --once      stop after what is shown, exit 0 if all went as said

A PostgreSQL of its own, three NATS servers, the gateways and a balancer of TCP connections; all of
it is in temporary folders and gone afterwards. ./run --fleet installs and builds what it needs
first.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/conformance"))

from support.http import fetch  # noqa: E402
from support.nats import NatsServer  # noqa: E402
from support.postgres import Postgres, programs  # noqa: E402
from support.wait import eventually  # noqa: E402

CRAB = os.environ.get("CRAB_BIN", str(ROOT / "build/dev/crab"))
SOON = 60.0


def step(text: str) -> None:
    print(f"\n== {text}", flush=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Node:
    """One gateway."""

    def __init__(self, name: str, folder: Path, fleet: dict[str, object]) -> None:
        self.name, self.folder = name, folder / name
        self.folder.mkdir()
        for own in ("run", "state"):
            (self.folder / own).mkdir(mode=0o700)
        self.port = 0
        self.socket = self.folder / "run/admin.sock"
        config = {
            "gateway": {
                "name": name,
                "threads": 1,
                "state_dir": str(self.folder / "state"),
                "runtime_dir": str(self.folder / "run"),
            },
            "listen": {"public": "127.0.0.1:0"},
            "built_in_hosts": {"cron": True},
            "fleet": {**fleet, "node_name": name},
            "tools": [{"match": "*", "side_effects": True}],
        }
        (self.folder / "gateway.yaml").write_text(json.dumps(config, indent=1))

    def start(self) -> None:
        self.log = open(self.folder / "log", "ab")  # noqa: SIM115: as long as the process
        self.process = subprocess.Popen(
            [CRAB, "gateway", "run", "--config", str(self.folder / "gateway.yaml")],
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        line = self.process.stdout.readline().strip()
        if not line.startswith("crab gateway ready"):
            raise SystemExit(f"{self.name} did not start: {(self.folder / 'log').read_text()}")
        self.port = int(line.partition("public=")[2].split()[0].rpartition(":")[2])
        print(f"{self.name}: {line}", flush=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def heard(self) -> int:
        """How many other nodes it can call."""
        page = fetch(self.socket, "GET", "/metrics").body.decode()
        return int(page.partition("\ncrab_fleet_nodes_heard ")[2].split()[0])

    def end(self, number: int = signal.SIGTERM) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(30)


class Balancer:
    """Passes each connection on to the first node that takes it, in the order that is set."""

    def __init__(self, nodes: list[Node]) -> None:
        self.order = nodes
        self._started = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True).start()
        self._started.wait(10)

    async def _run(self) -> None:
        server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await asyncio.Event().wait()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for node in self.order:
            with contextlib.suppress(OSError):
                there, back = await asyncio.open_connection("127.0.0.1", node.port)
                await asyncio.gather(self._copy(reader, back), self._copy(there, writer))
                return
        writer.close()

    @staticmethod
    async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
        sink.close()


def crab(*words: str, token: str = "", show: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs a command; the token is not among the words that are shown."""
    if show:
        print(f"$ crab {shlex.join(words)}", flush=True)
    done = subprocess.run(
        [CRAB, *words],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "CRAB_TOKEN": token},
    )
    if show and token:
        print((done.stdout + done.stderr).strip(), flush=True)
    return done


def expect(right: bool, what: str) -> None:
    if not right:
        raise SystemExit(f"that should have been otherwise: {what}")


@contextlib.contextmanager
def nats_cluster() -> Iterator[list[NatsServer]]:
    ports = [free_port() for _ in range(3)]
    routes = ",".join(f"nats://127.0.0.1:{port}" for port in ports)
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(
                NatsServer(
                    *("--cluster_name", "home", "--cluster", f"nats://127.0.0.1:{port}"),
                    *("--routes", routes),
                )
            )
            for port in ports
        ]


def knows_token(node: Node, token: str) -> bool:
    asked = urllib.request.Request(
        f"{node.url}/v1/tools", headers={"Authorization": f"Bearer {token}"}
    )
    try:
        urllib.request.urlopen(asked, timeout=10).close()
    except urllib.error.HTTPError as refused:
        return refused.code != 401
    return True


def start_device(balancer: Balancer, node: Node, folder: Path) -> subprocess.Popen[bytes]:
    """A device with two tools; `work` says in a file that it has begun, and takes its time."""
    made = crab("devices", "pair", "--name", "shed", "--token", "--socket", str(node.socket))
    token = made.stdout.split()[-1]
    (folder / "token").write_text(token)
    for other in balancer.order:
        eventually(lambda other=other: knows_token(other, token), "its token is known", SOON)
    return subprocess.Popen(
        [
            *(CRAB, "devices", "run", "--gateway", f"ws://127.0.0.1:{balancer.port}"),
            *("--token-file", str(folder / "token"), "--name", "shed"),
            *("--state", str(folder / "device.json"), "--exec", "greet=echo hello from the shed"),
            *("--exec", f"work=sh -c 'echo begun >> {folder}/work; sleep 300'"),
        ],
        stdout=open(folder / "device.log", "wb"),  # noqa: SIM115: as long as the process
        stderr=subprocess.STDOUT,
    )


def show_death(nodes: list[Node], balancer: Balancer, token: str, folder: Path) -> None:
    first, second, *_, last = nodes
    work = folder / "work"
    key = ("--idempotency-key", "work-1", "--timeout", "90s")
    step(f"kill -9 of {second.name} while a call of {first.name} runs at its device")
    print(f"$ crab call work --url {first.url} --idempotency-key work-1 &", flush=True)
    caller = subprocess.Popen(
        [CRAB, "call", "work", "--url", first.url, *key],
        env={**os.environ, "CRAB_TOKEN": token},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    eventually(work.exists, "the device has begun to work", SOON)
    second.end(signal.SIGKILL)
    said = caller.communicate(timeout=120)[0]
    print(said.strip(), flush=True)
    expect("OUTCOME_UNKNOWN" in said, "nobody knows how that call ended")
    step(f"A repeat with its key at {first.name} and {last.name}: unknown, and never a second run")
    for node in {first, last}:
        again = crab("call", "work", "--url", node.url, *key, token=token)
        expect("OUTCOME_UNKNOWN" in again.stdout + again.stderr, "it stays unknown")
    expect(work.read_text() == "begun\n", "the device has begun it once")
    print(f"$ cat work\n{work.read_text().strip()}", flush=True)


def make_job(node: Node, token: str) -> None:
    step(f"A cron job for the next minute, made at {node.name}")
    job = {"name": "chime", "schedule": "* * * * *"}
    made = crab("call", "cron.create", json.dumps(job), "--url", node.url, token=token)
    expect(made.returncode == 0, "the job is made")


def show_job(nodes: list[Node], dead: Node, database: Postgres) -> None:
    step(f"The job fires without {dead.name}, where it was made, and once for all nodes")
    told = [
        crab(
            *("events", "tail", "--types", "cron.triggered", "--from", "earliest", "--count", "1"),
            *("-o", "json", "--socket", str(node.socket)),
        ).stdout
        for node in nodes
        if node is not dead
    ]
    print(told[0].strip()[:200], "...", flush=True)
    expect("chime" in told[0] and set(told) == {told[0]}, "all nodes tell the same event")
    twice = database.ask(
        "SELECT envelope::json ->> 'idempotency_key' FROM event WHERE type = 'cron.triggered' "
        "GROUP BY 1 HAVING count(*) > 1"
    )
    expect(not twice.strip(), "each minute fires once")


def show(nodes: list[Node], balancer: Balancer, folder: Path, database: Postgres) -> None:
    first, second, *_, last = nodes
    step("A caller's token, made at one node and good at all of them")
    made = crab("tokens", "create", "--name", "ann", "--socket", str(last.socket))
    token = made.stdout.split()[-1]
    step(f"A device comes through the balancer to {second.name}, and {first.name} lists its tools")
    balancer.order = [second, last, first]
    device = start_device(balancer, first, folder)
    try:
        known: Callable[[Node], bool] = lambda node: (
            "greet" in crab("tools", "list", "--url", node.url, "--token", token, show=False).stdout
        )
        eventually(lambda: known(first), "the tools of the device are listed", SOON)
        crab("tools", "list", "--url", first.url, token=token)
        key = ("--idempotency-key", "greet-1")
        step(f"A call at {first.name} to the device at {second.name}")
        done = crab("call", "greet", "--url", first.url, *key, token=token)
        expect(done.returncode == 0 and "hello" in done.stdout, "the device greets")
        make_job(second, token)
        show_death(nodes, balancer, token, folder)
        show_job(nodes, second, database)
        step("What had ended before is replayed, and the device is called where it is now")
        for words in (key, ()):
            eventually(lambda: known(first), "the device is back", SOON)
            done = crab("call", "greet", "--url", first.url, *words, token=token)
            expect(done.returncode == 0 and "hello" in done.stdout, "the device greets")
    except BaseException:
        print((folder / "device.log").read_text(), flush=True)
        raise
    finally:
        device.terminate()
        device.wait(20)


def main() -> int:
    options = argparse.ArgumentParser(description="A fleet on this machine.")
    options.add_argument("--nodes", type=int, default=3, choices=range(3, 10))
    options.add_argument("--once", action="store_true")
    chosen = options.parse_args()
    if not programs():
        raise SystemExit("PostgreSQL is not installed: see packages.txt")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crab-fleet-")))
        step("PostgreSQL and three NATS servers")
        database = stack.enter_context(Postgres())
        servers = stack.enter_context(nats_cluster())
        (folder / "dsn").write_text(database.dsn)
        (folder / "key").write_text(secrets.token_hex(32))
        fleet = {
            "name": "home",
            "key_file": str(folder / "key"),
            "postgres": {"dsn_file": str(folder / "dsn"), "require_sync": False},
            "nats": {"urls": [server.url for server in servers]},
        }
        print("\n".join(fleet["nats"]["urls"]), flush=True)
        nodes = [Node(name, folder, fleet) for name in "abcdefghi"[: chosen.nodes]]
        step(f"{len(nodes)} gateways")
        for node in nodes:
            node.start()
            stack.callback(node.end)
        for node in nodes:
            eventually(lambda node=node: node.heard() == len(nodes) - 1, "all are heard", SOON)
        show(nodes, Balancer(nodes), folder, database)
        if not chosen.once:
            step("All of it runs until Ctrl-C; the admin sockets are")
            print("\n".join(str(node.socket) for node in nodes), flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                while True:
                    time.sleep(3600)
    return 0


if __name__ == "__main__":
    sys.exit(main())
