"""bench/cetp: what bridge and gateway add to a D-Bus call, and how long a refresh of many providers
takes."""

import asyncio
import contextlib
import http.client
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

from . import http_client, processes
from .processes import Unavailable
from .servers import Gateway

PROVIDERS, LIMIT_MS = 200, 500
LEDGER = "org.example.Ledger"


class Desktop:
    """The folders and the session bus of one user; a context manager."""

    def __enter__(self):
        if not shutil.which("dbus-daemon"):
            raise Unavailable("apt install dbus")
        self.folder = Path(tempfile.mkdtemp(prefix="crab-bench-cetp-"))
        self.manifests = self.folder / "data/cetp/providers"
        self.manifests.mkdir(parents=True)
        (self.folder / "data/dbus-1/services").mkdir(parents=True)
        for name in ("run", "state", "config"):
            (self.folder / name).mkdir(mode=0o700)
        choices = (
            self.folder / "config/crab/providers.json"
        )  # the bridge's own adapters would be counted too
        choices.parent.mkdir(mode=0o700)
        choices.write_text(
            json.dumps(
                {
                    "providers": {
                        f"crab.{label}": {"enabled": False}
                        for label in ("battery", "media", "system", "time")
                    }
                }
            )
        )
        choices.chmod(0o600)
        self.bus_path = self.folder / "bus"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "XDG_DATA_HOME": f"{self.folder}/data",
            "XDG_DATA_DIRS": "/nowhere",
            "XDG_CONFIG_HOME": f"{self.folder}/config",
            "XDG_STATE_HOME": f"{self.folder}/state",
            "XDG_RUNTIME_DIR": f"{self.folder}/run",
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.bus_path}",
            "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={self.folder}/none",
        }
        command = [
            "dbus-daemon",
            "--session",
            f"--address=unix:path={self.bus_path}",
            "--nofork",
            "--nopidfile",
            "--print-address=1",
        ]
        self.bus = processes.start(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self.environment,
        )
        processes.line_with(self.bus, "unix:", 10)
        self.bridge = None
        return self

    def __exit__(self, *_):
        self.end_bridge()
        processes.stop(self.bus)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start_bridge(self, gateway):
        address = "ws://" + gateway.public.removeprefix("tcp:")
        token = gateway.pair(f"desk-{time.monotonic_ns()}", "device")
        self.log = self.folder / "bridge.log"
        with open(self.log, "wb") as log:
            self.bridge = processes.start(
                [gateway.program, "bridge", "run", "--gateway", address, "--name", "desk"],
                stdout=subprocess.DEVNULL,
                stderr=log,
                env={**self.environment, "CRAB_TOKEN": token},
            )

    def end_bridge(self):
        if self.bridge:
            processes.stop(self.bridge)
            self.bridge = None


class Crowd:
    """Providers behind Unix sockets, each with one tool, all in one thread; the first never
    answers."""

    ANSWER = json.dumps(
        {
            "status": "success",
            "data": json.dumps(
                {"tools": [{"name": "x", "description": "x", "parameters": {"type": "object"}}]}
            ),
        }
    ).encode()

    def __init__(self, desktop):
        self._ready, self._loop = threading.Event(), asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, args=(desktop,), daemon=True)
        self._thread.start()
        self._ready.wait()

    def stop(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self, desktop):
        asyncio.set_event_loop(self._loop)
        for number in range(PROVIDERS):
            path = desktop.folder / f"{number}.sock"
            self._loop.run_until_complete(
                asyncio.start_unix_server(self._hang if number == 0 else self._serve, str(path))
            )
            (desktop.manifests / f"org.example.P{number}.ini").write_text(
                f"[CETP Provider]\nTransport=unix\nSocket={path}\n"
            )
        self._loop.call_soon(self._ready.set)
        self._loop.run_forever()
        hanging = asyncio.all_tasks(self._loop)
        for task in hanging:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*hanging, return_exceptions=True))

    async def _serve(self, reader, writer):
        await reader.readline()
        writer.write(self.ANSWER)
        await writer.drain()
        writer.close()

    async def _hang(self, reader, writer):
        with contextlib.suppress(asyncio.CancelledError):  # a cancelled connection would be logged
            await asyncio.sleep(3600)
        writer.close()


def tools_of(gateway):
    connection = http_client.UnixConnection(gateway.callers)
    try:
        return [
            tool["name"]
            for tool in json.loads(http_client.request(connection, "GET", "/v1/tools")[1])["tools"]
        ]
    except (OSError, http.client.HTTPException):
        return []
    finally:
        connection.close()


def until(condition, what, limit_seconds=30):
    end = time.monotonic() + limit_seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"not within {limit_seconds} s: {what}")
        time.sleep(0.01)


def timed(call, count):
    """How long each of `count` calls took, in microseconds; a tenth of them first, unmeasured."""
    taken = []
    for number in range(count + count // 10):
        began = time.monotonic_ns()
        call()
        if number >= count // 10:
            taken.append((time.monotonic_ns() - began) / 1000)
    return taken


def measure_call(gateway, desktop, build, options, report, say):
    from .dbus_client import DBusClient

    say("calls over the bus")
    (desktop.manifests / f"{LEDGER}.ini").write_text("[CETP Provider]\nTransport=dbus\n")
    service = f"[D-BUS Service]\nName={LEDGER}\nExec={build.executable('cetp_ledger')}\n"
    (desktop.folder / f"data/dbus-1/services/{LEDGER}.service").write_text(service)
    desktop.start_bridge(gateway)
    until(lambda: "ledger__list_accounts" in tools_of(gateway), "the ledger is listed")
    bus, connection = DBusClient(desktop.bus_path), http_client.UnixConnection(gateway.callers)
    path = "/" + LEDGER.replace(".", "/")

    def through():
        body = json.dumps(
            {
                "version": "v1",
                "call_id": f"cetp-{time.monotonic_ns()}",
                "tool_name": "ledger__list_accounts",
                "tenant_id": "default",
                "args": {},
                "context": {"agent_id": "bench", "session_id": "bench"},
            }
        )
        status, text = http_client.request(connection, "POST", "/v1/tools/call", body)
        if status != 200 or '"status":"ok"' not in text:
            raise RuntimeError(f"the call was answered {status} {text[:300]}")

    count = 200 if options.quick else 1000
    direct, whole = [], []
    for _ in range(options.rounds):  # interleaved, so that both see the same machine
        direct += timed(lambda: bus.call_provider(LEDGER, path, "list_accounts"), count)
        whole += timed(through, count)
    bus.close()
    connection.close()
    desktop.end_bridge()
    for name, taken in (("direct D-Bus call", direct), ("through bridge and gateway", whole)):
        ordered = sorted(taken)
        report.row(
            what=name,
            median_us=median(taken),
            p99_us=ordered[len(ordered) * 99 // 100],
            ratio=median(taken) / median(direct),
        )
    report.goal(
        "a warm D-Bus call through bridge and gateway, median", median(whole) / 1000, 1.0, "ms"
    )


def measure_refresh(gateway, desktop, options, report, say):
    say(f"refresh of {PROVIDERS} providers")
    crowd = Crowd(desktop)
    taken, listed = [], []
    try:
        for _ in range(1 if options.quick else 5):
            began = time.monotonic()
            desktop.start_bridge(gateway)
            until(
                lambda: sum("__x" in name for name in tools_of(gateway)) >= PROVIDERS - 1,
                "all are listed",
            )
            listed.append((time.monotonic() - began) * 1000)
            whole = [
                int(ms)
                for tools, ms in re.findall(
                    r"tools registered tools=(\d+) since_scan_ms=(\d+)", desktop.log.read_text()
                )
                if int(tools) >= PROVIDERS - 1
            ]
            taken.append(whole[0])
            desktop.end_bridge()
            until(lambda: not any("__x" in name for name in tools_of(gateway)), "they have left")
    finally:
        crowd.stop()
    report.row(
        what=f"refresh of {PROVIDERS} providers, one hung",
        median_ms=median(taken),
        worst_ms=max(taken),
    )
    report.row(
        what="the same from the start of the process to the gateway's list",
        median_ms=median(listed),
        worst_ms=max(listed),
    )
    report.goal(
        f"refresh of {PROVIDERS} providers, one of them hung, median",
        median(taken),
        float(LIMIT_MS),
        "ms",
    )


def run(build, options, report, say):
    report.settings.update(rounds=options.rounds)
    try:
        with Gateway(build) as gateway:
            with Desktop() as desktop:
                measure_call(gateway, desktop, build, options, report, say)
            with Desktop() as desktop:
                measure_refresh(gateway, desktop, options, report, say)
    except Unavailable as reason:
        report.skip("cetp", str(reason))
        report.goal("a warm D-Bus call through bridge and gateway, median", None, 1.0, "ms")
        report.goal(
            f"refresh of {PROVIDERS} providers, one of them hung, median",
            None,
            float(LIMIT_MS),
            "ms",
        )
