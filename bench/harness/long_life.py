"""bench/run soak --hours N: one gateway with everything it can have, in moderate use for hours.

Devices come and go, hosts answer over a Unix socket and over mutual TLS, with certificates that are
renewed every two minutes (a year of renewals takes a day and a half), agents talk and are started
by cron jobs and events, calls wait for approval, commands run in their sandbox, MCP clients open
and leave sessions, the configuration is reloaded twice a minute. Memory, descriptors, threads and
the stores' files are watched; at the end nothing may have grown and no process may be left.
"""

import itertools
import json
import os
import sys
import threading
import time
from contextlib import ExitStack
from statistics import median

from . import machine

GROWTH_MIB, GROWTH_SHARE = 8, 0.03  # of resident memory; whichever is more
WARM_UP = 720  # seconds until what is kept for ten minutes is as much as it will be
SAMPLE_SECONDS = 5
STORE_MIB = 16  # events.db may have as much; what is older goes
KEPT_FOR_DAYS = ("audit.db", "ledger.db")  # grow with the calls until their time is over
PAGE, PHOTO = 60_000, 400_000  # bytes of a result that is kept in place, and of a large one
FULL = 32  # MiB of each kind, of which the gateway keeps 24, in four parts that fill unevenly
DESCRIPTORS = 8  # as many more: connections that are open at the moment


class LongLife:
    """The gateway, what is around it, and what it is asked for."""

    def __init__(self, build, say):
        os.environ["CRAB_BIN"] = str(build.executable("crab"))
        for folder in ("conformance", "support", "harness"):
            sys.path.insert(0, str(machine.ROOT / "tests" / folder))
        self.say, self.over = say, threading.Event()
        self.done, self.failed = {}, {}

    def __enter__(self):
        self.stack = ExitStack()
        try:
            self.start()
        except BaseException:
            self.stack.close()
            raise
        return self

    def __exit__(self, *_):
        self.over.set()
        self.stack.close()

    def start(self):
        from mtls_tool_host import MtlsToolHost
        from scripted_model import ScriptedModel
        from support.gateway import Gateway
        from support.tool_host import ToolHost, host_tool

        model = self.stack.enter_context(ScriptedModel())
        model.requests = Forgetful()
        gateway = Gateway()
        self.gateway = gateway
        gateway.config = {**gateway.config, **configuration(gateway.folder, model.url)}
        host = ToolHost(gateway.folder / "host.sock", host_tool("look"), host_tool("guarded.look"))
        host.calls = Forgetful()
        host.start()
        (gateway.folder / "tree").mkdir()
        self.stack.enter_context(gateway)
        self.stack.callback(host.stop)
        key = gateway.admin_request("GET", "/v1/identity").json()["public_key_ed25519"]
        peer = self.stack.enter_context(MtlsToolHost(key, "far", host_tool("far.look")))
        peer.calls = peer.connections = Forgetful()
        wanted = {"component_type": "tool_host", "component_id": "far", "endpoint": peer.endpoint}
        answer = gateway.admin_request("POST", "/v1/pairings", wanted, timeout=25)
        if answer.status != 200:
            raise RuntimeError(f"pairing: {answer.status} {answer.body[:300]!r}")
        gateway.wait_listed("look", "far.look")
        self.visitor, self.person = gateway.pair("visitor"), gateway.pair("person")
        gateway.call(
            "cron.create", {"name": "each minute", "schedule": "* * * * *", "input": {"n": 1}}
        )
        self.fill()

    def fill(self):
        """What the gateway keeps up to a bound is full before anything is measured, or a run would
        show how it fills: 48 MiB of outcomes, half of them large ones, 8 MiB of events."""
        from support.device import Device, tool

        with Device(self.gateway, self.visitor) as device:
            device.register(tool("page"), tool("photo"))
            device.serve({"page": lambda args: "x" * PAGE, "photo": lambda args: "x" * PHOTO})
            for name, size in (("page", PAGE), ("photo", PHOTO)):
                for _ in range(int(FULL * 2**20 / size)):
                    reply = self.gateway.call(name, {}, caller="visits")
                    assert reply.status == "ok", reply.body

    # What is done, each in a thread of its own, until `over`

    def run(self, seconds):
        """Everything for so long; the samples."""
        acts = [
            (self.devices, 0.5),
            (self.callers, 0.05),
            (self.remember, 0.5),
            (self.chat, 1.0),
            (self.approve, 1.0),
            (self.commands, 2.0),
            (self.mcp_client, 2.0),
            (self.events, 5.0),
            (self.renew, 120.0),
            (self.reload, 30.0),
        ]
        threads = [threading.Thread(target=self.repeat, args=(*act,), daemon=True) for act in acts]
        for thread in threads:
            thread.start()
        samples = self.watch(seconds)
        self.over.set()
        for thread in threads:
            thread.join(60)
        return samples

    def repeat(self, act, pause):
        """`act`, again and again; what fails is counted with its last reason."""
        for number in itertools.count():
            try:
                act(number)
                self.done[act.__name__] = number + 1
            except Exception as failure:  # whatever it is, it is counted and shown
                if self.over.is_set():
                    return
                count = self.failed.get(act.__name__, (0, ""))[0] + 1
                self.failed[act.__name__] = (count, f"{type(failure).__name__}: {failure}"[:300])
            if self.over.wait(pause):
                return

    def watch(self, seconds):
        samples, begin = [], time.monotonic()
        while (at := time.monotonic() - begin) < seconds:
            samples.append(Sample(at, self.gateway))
            self.say(f"{at:.0f} of {seconds:.0f} s, {samples[-1].resident / 2**20:.1f} MiB")
            if self.gateway.process.poll() is not None:
                raise RuntimeError(f"the gateway ended\n{self.gateway.log_tail()}")
            time.sleep(SAMPLE_SECONDS)
        return samples

    def devices(self, number):
        """A device comes, is called, sends a large result and leaves, in good order or not."""
        from support.device import Device, tool

        with Device(self.gateway, self.visitor) as device:
            device.register(tool("lamp"), tool("photo"))
            device.serve({"lamp": lambda args: "on", "photo": lambda args: "x" * PHOTO})
            for _ in range(5):
                assert self.gateway.call("lamp", {}, caller="visits").result
            if number % 10 == 0:
                assert self.gateway.call("photo", {}, caller="visits").status == "ok"
            if number % 3 == 0:
                device.cut()

    def callers(self, number):
        """Calls of hosts, and some that are refused."""
        tool = ("look", "far.look", "list_devices", "nowhere")[number % 4]
        reply = self.gateway.call(tool, {}, idempotency_key=f"k{number}")
        assert (reply.status == "ok") == (tool != "nowhere"), reply.body

    def remember(self, number):
        text = f"entry {number} of many"
        reply = self.gateway.call("memory.append", {"entries": [{"text": text}]})
        found = self.gateway.call("memory.query", {"query": f'"entry {number}"'})
        assert reply.status == "ok" and found.result["entries"], (reply.body, found.body)
        if number % 20 == 0:
            assert self.gateway.call("memory.delete", {"all": True}).status == "ok"

    def chat(self, number):
        """A turn in a chat session of its own, which is deleted."""
        from support.device import Device

        with Device(self.gateway, self.person) as phone:
            phone.send("message", content=f"What about {number}?")
            while (frame := phone.receive(20))["type"] != "agent_end":
                assert frame["type"] != "error", frame
            session = phone.session_id
        gone = self.gateway.fetch("DELETE", f"/api/sessions/{session}", self.person)
        assert gone.status in (200, 204), gone.status

    def approve(self, number):
        """A call waits for a person, who allows every second one."""
        from support.approver import Approver

        with Approver(self.gateway) as person:
            running = self.gateway.start_call("guarded.look", {})
            person.decide(person.question()["id"], "allow" if number % 2 else "deny")
            assert (running.result(20).status == "ok") == bool(number % 2)

    def commands(self, number):
        reply = self.gateway.call("greet", {"name": f"n{number}"})
        assert reply.status == "ok", reply.body

    def mcp_client(self, number):
        """A session of a client of 2025-11-25, or requests of 2026-07-28."""
        from support.mcp import CAPABILITIES, HttpLink, LegacyClient, ModernClient

        token = self.gateway.caller_token("mcp")
        url = f"http://localhost:{self.gateway.public[1]}/mcp"
        able = (HttpLink(url, {"Authorization": f"Bearer {token}"}), CAPABILITIES)
        with ModernClient(*able) if number % 2 else LegacyClient(*able, "2025-11-25") as client:
            assert "look" in client.tools()
            client.call("look")

    def events(self, number):
        """A subscriber comes, acknowledges what is there, and leaves; a slow one begins anew where
        what it has not seen was removed."""
        from support.websocket import Refused, WebSocket

        target = "/v1/events?subscription=soak&types=*"
        try:
            stream = WebSocket(self.gateway.admin, target)
        except Refused as refused:
            assert refused.response.status == 410, refused
            stream = WebSocket(self.gateway.admin, f"{target}&cursor=earliest")
        with stream:
            try:
                for _ in range(200):
                    message = json.loads(stream.receive_text(0.5))
                    stream.send_text(json.dumps({"ack": message["cursor"]}))
            except TimeoutError:
                pass

    def renew(self, _):
        answer = self.gateway.admin_request("POST", "/v1/peers/tool_host/far/renew", {}, timeout=30)
        assert answer.status == 200, answer.body

    def reload(self, number):
        before = self.gateway.log_tail().count("configuration reloaded")
        self.gateway.reload({"calls": {"max_retries": 1 + number % 2}})
        end = time.monotonic() + 10
        while self.gateway.log_tail(20_000).count("configuration reloaded") <= before:
            assert time.monotonic() < end, "the reload is not told"
            time.sleep(0.2)


class Forgetful(list):
    """Where test servers note what came: the latest alone is kept."""

    def append(self, latest):
        self[:] = [latest]


class Sample:
    """What the gateway has at a moment."""

    def __init__(self, at, gateway):
        self.at, self.resident = at, gateway.resident_bytes()
        self.descriptors = gateway.open_files()
        self.threads = len(os.listdir(f"/proc/{gateway.process.pid}/task"))
        self.files = {}
        for file in (gateway.folder / "state").rglob("*"):
            name = file.name.removesuffix("-wal").removesuffix("-shm")
            name = name if name.endswith(".db") else "files"
            self.files[name] = self.files.get(name, 0) + size_of(file)
        self.stored = sum(size for name, size in self.files.items() if name not in KEPT_FOR_DAYS)


def size_of(file):
    try:
        return file.stat().st_size if file.is_file() else 0
    except OSError:  # gone meanwhile
        return 0


def configuration(folder, model):
    greet = {
        "name": "greet",
        "argv": ["echo", "{name}"],
        "input_schema": {"type": "object", "properties": {"name": {"type": "string"}}},
        "side_effects": [],
        "defaults": {"privilege": "MINIMAL"},
    }
    return {
        "hosts": [{"name": "near", "unix": str(folder / "host.sock")}],
        "built_in_hosts": {"memory": True, "cron": True},
        "events": {"retention": "10m", "max_bytes": STORE_MIB * 2**20},
        "artifacts": {"ttl": "5m"},
        "models": [{"model": "parrot", "url": model}],
        "agents": [{"name": "butler", "on": [{"event": "cron.triggered"}]}],
        "policy": [{"principal": "*", "call": {"needs_approval": ["guarded*"]}}],
        "worktrees": [{"id": "soak/main", "path": str(folder / "tree")}],
        "providers": [{"id": "shop", "kind": "command", "worktree": "soak/main", "tools": [greet]}],
    }


def after_warm_up(seconds):
    """Where the fifth begins that growth of memory is counted from: the second one, or later in a
    short run; before the last one in any case."""
    return min(max(1, 5 * WARM_UP / seconds), 3)


def fifth(samples, seconds, number, what):
    """The median of `what` in that fifth of the run; `number` may be between two."""
    begin, end = seconds * number / 5, seconds * (number + 1) / 5
    return median(getattr(each, what) for each in samples if begin <= each.at < end)


def run(build, options, report, say):
    seconds = options.hours * 3600
    report.settings.update(hours=options.hours)
    with LongLife(build, say) as life:
        samples = life.run(seconds)
        folder = life.gateway.folder
    from support.processes import processes_of

    left = processes_of(str(folder))
    for name, count in sorted(life.done.items()):
        failures, reason = life.failed.get(name, (0, ""))
        report.row(what=name, times=count, failures=failures)
        if reason:
            report.notes.append(f"{name}: {reason}")
    for name in sorted(set(life.failed) - set(life.done)):
        report.row(what=name, times=0, failures=life.failed[name][0])
        report.notes.append(f"{name}: {life.failed[name][1]}")
    judge(samples, seconds, life, left, report)


def judge(samples, seconds, life, left, report):
    first = after_warm_up(seconds)
    early, late = (fifth(samples, seconds, number, "resident") for number in (first, 4))
    if seconds * first / 5 < WARM_UP:
        report.notes.append("so short a run shows how what is kept for ten minutes fills")
    most = max(GROWTH_MIB, GROWTH_SHARE * early / 2**20)
    report.row(what="resident memory, MiB", times=early / 2**20, failures=late / 2**20)
    report.goal("growth of resident memory", (late - early) / 2**20, most, "MiB")
    for what, allowed in (("descriptors", DESCRIPTORS), ("threads", 2)):
        growth = fifth(samples, seconds, 4, what) - fifth(samples, seconds, 1, what)
        report.goal(f"growth of {what}", growth, allowed)
    stored = [fifth(samples, seconds, number, "stored") / 2**20 for number in (1, 4)]
    report.goal("growth of what stores keep", stored[1] - stored[0], STORE_MIB, "MiB")
    report.notes.append(f"stores: {stored[0]:.1f} MiB, then {stored[1]:.1f} MiB")
    sizes = [min(samples, key=lambda each: abs(each.at - seconds * part)) for part in (0.3, 0.9)]
    for name, size in sorted(sizes[1].files.items()):
        before = sizes[0].files.get(name, 0)
        report.notes.append(f"{name}: {before / 2**20:.1f} MiB, then {size / 2**20:.1f} MiB")
    report.goal("things that failed", sum(count for count, _ in life.failed.values()), 0)
    report.goal("processes that are left", len(left), 0)
    report.notes += [f"process {pid} is left" for pid in left]
