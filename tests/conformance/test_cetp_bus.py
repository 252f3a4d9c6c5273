"""`crab bridge` with providers on a private session bus and as sandboxed commands:
docs/protocols/cetp.md, sections 2 and 3."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import unittest
import uuid
from pathlib import Path

from support.bridge import BridgeHome, success, tool
from support.bus import SYSTEM_PYTHON, Monitor, SessionBus, has_module
from support.case import GatewayCase
from support.wait import Stopwatch, eventually

LEDGER = os.environ.get("CETP_LEDGER", "")
TESTER = os.environ.get("CETP_TEST_PROVIDER", "")
ENTRY = (
    "[Desktop Entry]\nType=Application\nName=Ledger\nExec=ledger\n"
    "Implements=com.clawseed.Cetp.Provider1;\n"
)


class BusCase(GatewayCase):
    def setUp(self) -> None:
        self.home = BridgeHome()
        self.addCleanup(self.home.close)
        self.log = self.home.folder / "provider.log"
        self.bus = SessionBus(
            self.home.folder, {**self.home.environment, "CETP_TEST_LOG": str(self.log)}
        )
        self.home.environment["DBUS_SESSION_BUS_ADDRESS"] = self.bus.address
        self.bus.start()
        self.addCleanup(self.end_bus)

    def end_bus(self) -> None:
        """Stops the bus and what hangs although it is gone."""
        self.bus.stop()
        for folder in self.processes():
            os.kill(int(folder.name), signal.SIGKILL)

    def processes(self) -> list[Path]:
        """The folders in /proc of what this bus has started."""
        found = []
        for folder in Path("/proc").iterdir():
            try:
                if (
                    folder.name.isdigit()
                    and f"DBUS_STARTER_ADDRESS={self.bus.address}".encode()
                    in (folder / "environ").read_bytes()
                ):
                    found.append(folder)
            except OSError:
                continue
        return found

    def connect(self) -> None:
        self.home.start(self.gateway, self.new_token("desk"))

    def monitor(self) -> Monitor:
        """Sees from now on what the bus carries."""
        monitor = Monitor(self.bus.address, self.home.folder / "seen")
        self.addCleanup(monitor.close)
        return monitor

    def wait_tools(self, *names: str, limit: float = 8.0) -> None:
        eventually(
            lambda: {name for name in self.gateway.tools() if "__" in name} == set(names),
            f"the tools are {names}",
            limit,
        )

    def call(self, name: str, args: object = None, **members: object) -> object:
        return self.gateway.call(f"{self.slug}__{name}", args or {}, **members)

    def text_of(self, name: str, args: object = None) -> str:
        """The text that a tool answers with; one as large as an artifact is fetched, as a caller
        does."""
        reply = self.call(name, args)
        if "artifact" not in reply.result:
            return reply.result["text"]
        return self.gateway.fetch(
            "GET", reply.result["artifact"]["href"], self.gateway.caller_token("tester")
        ).body.decode()

    def stamp(self, name: str, *rest: str) -> Path:
        """A service command that leaves a line in a file each time it is started, and then becomes
        `rest`."""
        mark = self.home.folder / f"{name}.started"
        script = self.home.folder / f"{name}.sh"
        script.write_text(f"#!/bin/sh\necho started >> {mark}\n{' '.join(rest)}\n")
        script.chmod(0o755)
        self.bus.service(name, script)
        return mark

    @staticmethod
    def starts(mark: Path) -> int:
        return len(mark.read_text().splitlines()) if mark.exists() else 0


@unittest.skipUnless(
    shutil.which("dbus-daemon") and LEDGER, "no dbus-daemon, or no provider was built"
)
class OnTheBus(BusCase):
    LEDGER_TOOLS = ("ledger__balance", "ledger__list_accounts")

    def test_cetp_04_49_all_kinds_of_records_are_found_and_finding_starts_nothing(self) -> None:
        mark = self.stamp("org.example.Ledger", "exec", LEDGER)
        self.home.declare("org.example.Ledger")
        self.home.write(self.home.applications / "org.example.Desk.desktop", ENTRY)
        self.bus.service("org.example.Snap.Cetp1", "/bin/false")
        self.home.crab("list")
        self.assertEqual(self.starts(mark), 0)
        self.connect()
        self.wait_tools(*self.LEDGER_TOOLS)
        self.assertEqual(self.starts(mark), 1)
        self.home.wait_state("org.example.Snap", "off")
        self.assertEqual(
            {entry["id"] for entry in self.home.apps()},
            {"org.example.Ledger", "org.example.Desk", "org.example.Snap"},
        )

    def test_a_call_goes_over_the_bus_and_an_idle_provider_is_started_again(self) -> None:
        mark = self.stamp("org.example.Ledger", "exec", LEDGER, "--idle", "1")
        self.home.declare("org.example.Ledger")
        self.connect()
        self.wait_tools(*self.LEDGER_TOOLS)
        self.assertEqual(
            json.loads(self.call("ledger__balance", {"account": "cash"}).result["text"]),
            {"balance": 12.5},
        )
        eventually(lambda: not self.processes(), "the provider has left", 10)
        self.assertEqual(
            json.loads(self.call("ledger__balance", {"account": "bank"}).result["text"]),
            {"balance": 340},
        )
        self.assertGreaterEqual(self.starts(mark), 2)

    def test_cetp_70_a_provider_is_listed_once_its_service_file_appears(self) -> None:
        self.home.declare("org.example.Ledger")
        self.connect()
        self.home.wait_state("org.example.Ledger", "left out")
        self.assertIn(
            "provider did not answer", self.home.provider_status("org.example.Ledger")["problem"]
        )
        self.bus.service("org.example.Ledger", LEDGER)
        self.wait_tools(*self.LEDGER_TOOLS)

    def test_cetp_71_a_service_that_exits_at_once_is_left_out_after_one_repeat(self) -> None:
        mark = self.stamp("org.example.Ledger", "exit 1")
        self.home.declare("org.example.Ledger")
        monitor = self.monitor()
        self.connect()
        self.home.wait_state("org.example.Ledger", "left out")
        self.assertIn(
            "provider did not answer", self.home.provider_status("org.example.Ledger")["problem"]
        )
        self.assertEqual(
            monitor.calls_about("org.example.Ledger"),
            ["Call list_tools", "StartServiceByName", "Call list_tools"],
        )
        for error in monitor.errors_about("org.example.Ledger"):
            self.assertRegex(error, r"^org\.freedesktop\.DBus\.Error\.Spawn\.")
        self.assertEqual(len(monitor.errors_about("org.example.Ledger")), 3)
        self.assertEqual(self.starts(mark), 3)
        self.assertEqual([name for name in self.gateway.tools() if name.startswith("ledger__")], [])

    def test_cetp_72_a_service_that_never_takes_its_name_times_out_and_is_started_once(
        self,
    ) -> None:
        mark = self.stamp("org.example.Ledger", "exec sleep 20")
        self.home.declare("org.example.Ledger")
        self.connect()
        self.home.wait_state("org.example.Ledger", "left out", 10)
        self.assertIn(
            "no answer within 5000 ms", self.home.provider_status("org.example.Ledger")["problem"]
        )
        self.assertEqual(self.starts(mark), 1)

    def test_cetp_76_a_list_that_the_bus_forbids_to_ask_for_is_permission_denied_and_asked_once(
        self,
    ) -> None:
        monitor = self.monitor()
        mark = self.stamp("org.example.Denied", "exec", LEDGER)
        self.home.declare("org.example.Denied", DesktopId="org.example.Denied.desktop")
        self.connect()
        self.home.wait_state("org.example.Denied", "left out")
        self.assertRegex(
            self.home.provider_status("org.example.Denied")["problem"], r"^\[PERMISSION_DENIED\]"
        )
        self.assertEqual(
            monitor.calls_about("org.example.Denied"),
            ["Call list_tools"],
            "neither repeated, nor started, nor woken",
        )
        self.assertEqual(
            monitor.errors_about("org.example.Denied"), ["org.freedesktop.DBus.Error.AccessDenied"]
        )
        self.assertEqual(self.starts(mark), 0)

    def test_cetp_76_a_call_that_the_bus_forbids_is_permission_denied_and_sent_once(self) -> None:
        self.stamp("org.example.Ledger", "exec", LEDGER)
        self.home.declare("org.example.Ledger", DesktopId="org.example.Ledger.desktop")
        self.connect()
        self.wait_tools(*self.LEDGER_TOOLS)
        self.bus.deny("org.example.Ledger")
        monitor = self.monitor()
        self.assertRegex(
            self.call("ledger__balance", {"account": "cash"}).error["message"],
            r"\[PERMISSION_DENIED\]",
        )
        self.assertEqual(
            monitor.calls_about("org.example.Ledger"),
            ["Call execute_tool"],
            "neither repeated, nor started, nor woken",
        )
        self.assertEqual(
            monitor.errors_about("org.example.Ledger"), ["org.freedesktop.DBus.Error.AccessDenied"]
        )

    def test_cetp_63_when_the_bus_goes_the_tools_go_and_come_back_with_it(self) -> None:
        self.bus.service("org.example.Ledger", LEDGER)
        self.home.declare("org.example.Ledger")
        self.connect()
        self.wait_tools(*self.LEDGER_TOOLS)
        self.bus.stop()
        self.wait_tools()
        eventually(lambda: not self.processes(), "the provider has left with its bus")
        self.bus.start()
        self.wait_tools(*self.LEDGER_TOOLS)


@unittest.skipUnless(
    shutil.which("dbus-daemon") and LEDGER and TESTER, "no dbus-daemon, or no provider was built"
)
class Faults(BusCase):
    CONFIG = {"gateway": {"log": {"level": "debug"}}}

    def setUp(self) -> None:
        super().setUp()
        self.bus.service("org.example.Test", TESTER)
        self.home.declare("org.example.Test")

    def ready(self) -> None:
        self.connect()
        self.gateway.wait_listed("test__echo")

    def request_ids(self, tool_name: str) -> list[str]:
        """The request ids that the provider saw for a tool."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line.split()[1] for line in lines if line.split()[0] == tool_name]

    def test_cetp_31_the_provider_knows_its_caller(self) -> None:
        self.ready()
        self.assertEqual(self.call("test__caller").result, {"text": str(os.getuid())})

    def test_cetp_48_64_one_id_leads_through_the_logs_of_gateway_bridge_and_provider(self) -> None:
        self.ready()
        call_id = str(uuid.uuid4())
        self.call("test__echo", call_id=call_id)
        self.call("test__echo")
        [request_id, other] = self.request_ids("echo")
        self.assertNotEqual(request_id, other)

        def line(text: str, *words: str) -> list[str]:
            return [each for each in text.splitlines() if all(word in each for word in words)]

        eventually(
            lambda: line(
                self.home.log(), f"call_id={request_id}", "tool=test__echo", "outcome=success"
            ),
            "the bridge logs it",
        )
        gateway = eventually(
            lambda: line(self.gateway.log_tail(1 << 20), f"request_id={request_id}"),
            "the gateway logs it",
        )
        self.assertEqual(len(gateway), 1)
        self.assertIn(
            f"call_id={call_id}", gateway[0], "and says which call of which caller that was"
        )

    def test_cetp_62_a_cancel_ends_the_wait_for_a_provider_that_hangs(self) -> None:
        self.ready()
        call_id = str(uuid.uuid4())
        running = self.gateway.start_call(f"{self.slug}__test__hang", {}, call_id=call_id)
        [request_id] = eventually(lambda: self.request_ids("hang"), "the call is out")
        self.gateway.cancel(call_id)
        eventually(
            lambda: f"call_id={request_id}" in self.home.log(),
            "the bridge does not wait any more, 25 s before the deadline",
        )
        self.assertEqual(running.result(5).code, "CANCELLED")

    def test_cetp_55_changed_tools_of_one_provider_ask_that_one_alone(self) -> None:
        other = self.home.provider("org.example.Other", tool("x"))
        self.ready()
        self.gateway.wait_listed("other__x")
        self.call("test__grow")
        self.gateway.wait_listed("test__grown")
        self.assertEqual(self.call("test__grown").result, {"text": "new"})
        self.assertEqual(len(other.named("list_tools")), 1)

    def test_cetp_57_three_mebibytes_arrive_whole_and_five_are_too_large(self) -> None:
        self.ready()
        big = 3 << 20
        self.assertTrue(self.text_of("test__fill", {"bytes": big}) == "x" * big)
        self.assertIn(
            "result too large", self.call("test__fill", {"bytes": 5 << 20}).error["message"]
        )
        self.assertEqual(self.call("test__echo").status, "ok")

    def test_cetp_67_a_provider_that_crashes_is_started_again_and_answers(self) -> None:
        self.ready()
        watch = Stopwatch()
        self.assertEqual(
            self.call("test__crash_once", {"file": str(self.home.folder / "crashed")}).result,
            {"text": "alive"},
        )
        self.assertGreaterEqual(watch.seconds, 0.3)
        ids = self.request_ids("crash_once")
        self.assertEqual((len(ids), len(set(ids))), (2, 1))

    def test_cetp_68_a_hanging_provider_is_asked_once_and_others_answer_meanwhile(self) -> None:
        self.bus.service("org.example.Ledger", LEDGER)
        self.home.declare("org.example.Ledger")
        self.ready()
        self.gateway.wait_listed("ledger__list_accounts")
        hanging = self.gateway.start_call(f"{self.slug}__test__hang", {}, timeout_ms=2000)
        eventually(lambda: self.request_ids("hang"), "the call is out")
        self.assertEqual(self.call("ledger__list_accounts").status, "ok")
        self.assertIn("[INTERNAL_ERROR] no answer within", hanging.result(10).error["message"])
        self.assertEqual(len(self.request_ids("hang")), 1)


PYTHON_PROVIDER = Path(__file__).parent / "support" / "bus_provider.py"


@unittest.skipUnless(
    shutil.which("dbus-daemon") and has_module("dbus"), "no dbus-daemon, or no python3-dbus"
)
class Replies(BusCase):
    """A provider over libdbus, which sends what crab's kit never would."""

    def setUp(self) -> None:
        super().setUp()
        self.mark = self.stamp(
            "org.example.Odd", "exec", SYSTEM_PYTHON, str(PYTHON_PROVIDER), "org.example.Odd"
        )
        self.home.declare("org.example.Odd")

    def ready(self) -> None:
        self.connect()
        self.gateway.wait_listed("odd__echo")

    def sent(self, name: str) -> int:
        """How often the provider saw a call of that tool, or of that method."""
        return [line.split()[0] for line in self.log.read_text().splitlines()].count(name)

    def refusal(self, name: str) -> str:
        message = self.call(f"odd__{name}").error["message"]
        self.assertEqual(self.sent(name), 1, "it is not repeated")
        return message

    def test_cetp_75_a_reply_over_a_mebibyte_is_too_large_and_the_bus_stays(self) -> None:
        self.ready()
        self.assertIn("result too large (1048577 > 1048576)", self.refusal("oversize"))
        self.assertTrue(self.text_of("odd__exact") == "x" * (1 << 20))
        self.assertNotIn("the message bus has disconnected", self.home.log())
        self.assertEqual(self.starts(self.mark), 1)

    def test_cetp_57_data_of_another_type_and_unsealed_memory_are_refused(self) -> None:
        self.ready()
        self.assertIn(
            "[INTERNAL_ERROR] the provider's `data` is not a string", self.refusal("number")
        )
        self.assertIn(
            "[INTERNAL_ERROR] the provider's data_fd is not sealed", self.refusal("unsealed")
        )

    def test_cetp_12_unknown_keys_of_any_type_are_ignored(self) -> None:
        self.ready()
        self.assertEqual(self.call("odd__odd_keys").result, {"text": "good"})

    def test_cetp_30_limits_and_errors_have_their_codes_and_are_not_repeated(self) -> None:
        self.ready()
        limited = self.home.crab(
            "call", "org.example.Odd", "limited"
        )  # the gateway may repeat it, the bridge does not
        self.assertIn("[RATE_LIMITED]", limited.stderr)
        self.assertEqual(self.sent("limited"), 1)
        self.assertIn(
            "[INTERNAL_ERROR] the provider failed with org.example.Oops", self.refusal("failed")
        )
        self.assertEqual(self.call("odd__echo").status, "ok")

    def test_who_does_not_know_the_method_is_left_out_until_its_record_changes(self) -> None:
        self.ready()
        self.assertIn("UnknownMethod", self.refusal("unknown_method"))
        self.home.wait_state("org.example.Odd", "left out")
        asked = self.sent("list_tools")
        self.home.declare("org.example.Other")  # a scan, which does not ask it again
        self.home.wait_state("org.example.Other", "left out")
        self.assertEqual(self.sent("list_tools"), asked)
        self.home.declare("org.example.Odd", Name="Mended")
        self.gateway.wait_listed("odd__echo")

    def test_cetp_07_a_version_that_shows_only_when_it_runs_is_left_out(self) -> None:
        self.bus.stop()
        self.bus = SessionBus(
            self.home.folder,
            {**self.home.environment, "CETP_TEST_LOG": str(self.log), "CETP_TEST_VERSION": "2"},
            "newer",
        )
        self.home.environment["DBUS_SESSION_BUS_ADDRESS"] = self.bus.address
        self.bus.service("org.example.Odd", SYSTEM_PYTHON, PYTHON_PROVIDER, "org.example.Odd")
        self.bus.start()
        self.connect()
        self.home.wait_state("org.example.Odd", "left out")
        self.assertIn("protocol version 2", self.home.provider_status("org.example.Odd")["problem"])

    def test_a_name_that_comes_and_goes_fifty_times_a_second_costs_few_questions_and_delays_nobody(
        self,
    ) -> None:
        """A provider that the bus cannot start and that loses its name all the time."""
        steady = self.home.provider("org.example.Steady", tool("x"))
        self.home.declare("org.example.Flap")
        script = self.home.folder / "flap.py"
        script.write_text(FLAPPING)
        self.ready()
        self.gateway.wait_listed("steady__x")
        flapping = subprocess.Popen(
            [SYSTEM_PYTHON, script], env=self.home.environment, stdout=subprocess.PIPE
        )
        try:
            self.assertEqual(flapping.stdout.readline(), b"begun\n")
            while flapping.poll() is None:
                watch = Stopwatch()
                self.assertEqual(self.call("steady__x").status, "ok")
                self.assertLess(watch.seconds, 2)
        finally:
            flapping.kill()
            flapping.stdout.close()
            self.assertEqual(flapping.wait(10), 0)
        self.home.wait_state("org.example.Flap", "left out")
        self.assertLessEqual(
            self.home.log().count("provider=org.example.Flap"),
            40,
            "three hundred changes are a few bursts",
        )
        self.assertLessEqual(
            len(steady.named("list_tools")), 3, "others are not asked because of it"
        )

    def test_cetp_27_the_person_is_told_once_a_minute_and_a_click_starts_the_apps_own_action(
        self,
    ) -> None:
        script = self.home.folder / "desktop.py"
        script.write_text(DESKTOP)
        shown = self.home.folder / "shown"
        desktop = subprocess.Popen(
            [SYSTEM_PYTHON, script, shown], env=self.home.environment, stdout=subprocess.PIPE
        )
        try:
            self.assertEqual(desktop.stdout.readline(), b"ready\n")
            self.home.declare(
                "org.example.Odd", Name="Odd app", DesktopId="org.example.Odd.desktop"
            )
            self.ready()
            for _ in range(3):
                self.assertIn(
                    "[AUTH_REQUIRED] no consent — Allow it", self.call("odd__auth").error["message"]
                )
            eventually(lambda: self.sent("action") == 1, "the app does what it asked for")
            self.assertEqual(
                shown.read_text(),
                "Odd app wants you to act|Allow it|default,Open|org.example.Odd\n",
            )
        finally:
            desktop.kill()
            desktop.wait(10)
            desktop.stdout.close()

    @unittest.skipUnless(shutil.which("xdg-dbus-proxy"), "no xdg-dbus-proxy")
    def test_cetp_61_a_flatpak_starts_disabled_and_answers_through_its_proxy(self) -> None:
        flat = self.home.folder / "flat.sh"
        flat.write_text(
            FLATPAK.format(
                bus=self.bus.address,
                socket=self.home.folder / "proxy",
                python=SYSTEM_PYTHON,
                provider=PYTHON_PROVIDER,
            )
        )
        flat.chmod(0o755)
        self.bus.service("org.example.Flat", flat)
        self.home.write(
            self.home.applications / "org.example.Flat.desktop",
            ENTRY + "X-Flatpak=org.example.Flat\n",
        )
        self.ready()
        self.home.wait_state("org.example.Flat", "off")
        self.assertFalse((self.home.folder / "proxy").exists(), "it was not started")
        self.home.crab("enable", "org.example.Flat")
        self.gateway.wait_listed("flat__echo")
        self.assertEqual(self.call("flat__echo", {"a": 1}).status, "ok")


#: A desktop whose person clicks on every notification.
DESKTOP = '''
import sys, dbus, dbus.service, dbus.mainloop.glib
from gi.repository import GLib
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
class Desktop(dbus.service.Object):
    @dbus.service.method("org.freedesktop.Notifications", "susssasa{sv}i", "u")
    def Notify(self, app, replaces, icon, title, text, actions, hints, expires):
        with open(sys.argv[1], "a") as shown:
            shown.write(f"{title}|{text}|{','.join(actions)}|{hints.get('desktop-entry', '')}\\n")
        GLib.timeout_add(100, lambda: self.ActionInvoked(7, "default"))
        return 7
    @dbus.service.signal("org.freedesktop.Notifications", "us")
    def ActionInvoked(self, notification, action):
        pass
desktop = Desktop(bus, "/org/freedesktop/Notifications")
held = dbus.service.BusName("org.freedesktop.Notifications", bus)
print("ready", flush=True)
GLib.MainLoop().run()
'''

FLAPPING = '''
import time, dbus
bus = dbus.SessionBus()
print("begun", flush=True)
for _ in range(150):
    bus.request_name("org.example.Flap")
    time.sleep(0.01)
    bus.release_name("org.example.Flap")
    time.sleep(0.01)
'''

#: What flatpak does: the app sees the bus only through a proxy, which ends with it.
FLATPAK = """#!/bin/sh
xdg-dbus-proxy "{bus}" "{socket}" --filter --own=org.example.Flat &
proxy=$!
trap 'kill $proxy' EXIT
until test -S "{socket}"; do sleep 0.05; done
DBUS_SESSION_BUS_ADDRESS="unix:path={socket}" {python} {provider} org.example.Flat
"""


#: A command that answers with what it could do.
PROBE = """
import json, os, socket, sys
asked = json.loads(sys.argv[1])
done = []
def attempt(name, what):
    try:
        what()
        done.append(name)
    except OSError:
        pass
def write(folder):
    path = os.path.join(folder, f"probe{os.getpid()}")
    open(path, "w").close()
    os.unlink(path)
def read(path):
    os.listdir(path) if os.path.isdir(path) else open(path).close()
def connect(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as link:
        link.settimeout(5)
        link.connect(address)
        link.send(b"reached")
        link.send(b"again")  # to a port where nobody is, this fails
for folder in asked["write"]:
    attempt(f"write {folder}", lambda: write(folder))
for path in asked["read"]:
    attempt(f"read {path}", lambda: read(path))
attempt("tcp", lambda: connect(socket.AF_INET, ("127.0.0.1", asked["tcp"])))
attempt("udp", lambda: connect(socket.AF_INET, ("127.0.0.1", asked["udp"]), socket.SOCK_DGRAM))
for path in asked["unix"]:
    attempt(f"unix {path}", lambda: connect(socket.AF_UNIX, path.replace("@", "\\0")))
print(json.dumps({"status": "success", "data": json.dumps(done)}))
"""


class Reachable:
    """Sockets of every kind on this machine, and what has come to them."""

    def __init__(self, folder: Path) -> None:
        self.path, self.abstract = str(folder / "reachable"), f"@crab-test-{os.getpid()}"
        self._streams = [
            socket.create_server(("127.0.0.1", 0)),
            socket.socket(socket.AF_UNIX),
            socket.socket(socket.AF_UNIX),
        ]
        self._streams[1].bind(self.path)
        self._streams[2].bind(self.abstract.replace("@", "\0"))
        self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._datagrams.bind(("127.0.0.1", 0))
        self.tcp, self.udp = self._streams[0].getsockname()[1], self._datagrams.getsockname()[1]
        self._count = 0
        for each in (*self._streams, self._datagrams):
            each.setblocking(False)
        for stream in self._streams:
            stream.listen(16)

    def __enter__(self) -> Reachable:
        return self

    def __exit__(self, *_: object) -> None:
        for each in (*self._streams, self._datagrams):
            each.close()

    def reached(self) -> int:
        """Connections and datagrams so far."""
        for each in (*self._streams, self._datagrams):
            with contextlib.suppress(BlockingIOError):
                while True:
                    if each is self._datagrams:
                        each.recv(64)
                    else:
                        each.accept()[0].close()
                    self._count += 1
        return self._count

    def wait_reached(self, most: int) -> int:
        return eventually(
            lambda: self.reached() > most and self.reached(), "the probe reaches all of it"
        )


@unittest.skipUnless(shutil.which("bwrap"), "no bubblewrap")
class Commands(BusCase):
    def script(self, name: str, body: str, folder: Path | None = None, **keys: str) -> None:
        """A provider in shell with the tool `run`; `body` is what execute_tool does."""
        path = (folder or self.home.folder / "libexec") / name
        path.parent.mkdir(exist_ok=True)
        listing = json.dumps(success({"tools": [tool("run")]}))
        path.write_text(
            f"#!/bin/sh\nif [ \"$1\" = list_tools ]; then echo '{listing}'; exit; fi\n{body}\n"
        )
        path.chmod(0o755)
        self.home.declare(f"org.example.{name}", Transport="exec", Exec=str(path), **keys)

    def run_tool(self, name: str, **members: object) -> object:
        self.gateway.wait_listed(f"{name}__run")
        return self.call(f"{name}__run", **members)

    def probe_of(self, host: "Reachable", secret: Path) -> list[str]:
        """A command that tries to write everywhere, to read `secret` and to reach `host`."""
        everywhere = (
            "/tmp",
            "/",
            "/etc",
            "/usr",
            "/run",
            "/dev",
            "/dev/shm",
            "/sys",
            "/proc",
            self.home.folder / "libexec",
        )
        wishes = {
            "write": [str(each) for each in everywhere],
            "read": [str(secret), str(Path.home())],
            "tcp": host.tcp,
            "udp": host.udp,
            "unix": [host.path, host.abstract, f"{self.home.folder}/bus"],
        }
        return [SYSTEM_PYTHON, "-c", PROBE, json.dumps(wishes)]

    def test_cetp_58_a_command_can_write_nowhere_reach_nobody_and_read_no_home(self) -> None:
        secret = self.home.folder / "secret"
        secret.write_text("x")
        with Reachable(self.home.folder) as host:
            probe = self.probe_of(host, secret)
            self.script("tester", shlex.join(probe))
            outside = json.loads(
                json.loads(
                    subprocess.run(probe, capture_output=True, text=True, check=True).stdout
                )["data"]
            )
            self.assertLessEqual(
                {
                    "write /tmp",
                    f"write {self.home.folder}/libexec",
                    f"read {secret}",
                    "tcp",
                    "udp",
                    f"unix {host.path}",
                    f"unix {host.abstract}",
                    f"unix {self.home.folder}/bus",
                },
                set(outside),
                "what the probe finds where nothing holds it back",
            )
            reached = host.wait_reached(3)
            self.connect()
            self.assertEqual(json.loads(self.run_tool("tester").result["text"]), ["write /tmp"])
            self.assertEqual(host.reached(), reached, "nothing of it came out")
            self.script("homely", shlex.join(probe), self.home.folder)
            self.assertEqual(
                json.loads(self.run_tool("homely").result["text"]),
                ["write /tmp"],
                "a program that lies in the home folder",
            )
            self.script("wisher", shlex.join(probe), Network="true")
            self.home.wait_state("org.example.wisher", "off")
            self.home.crab("enable", "org.example.wisher")
            self.assertLessEqual(
                {"tcp", "write /tmp"}, set(json.loads(self.run_tool("wisher").result["text"]))
            )
        self.assertEqual(list((self.home.folder / "libexec").glob("probe*")), [])

    def test_cetp_58_without_a_bubblewrap_that_works_commands_are_not_listed_and_never_run(
        self,
    ) -> None:
        ran = self.home.folder / "ran"
        self.script("tester", f"echo ran >> {ran}")
        listing = self.home.folder / "libexec" / "tester"
        listing.write_text(f"#!/bin/sh\necho ran >> {ran}\n{listing.read_text()}")
        other = self.home.provider("org.example.Other", tool("x"))
        for useless in ("/usr/bin/false", "/dev/null"):
            with self.subTest(useless):
                hidden = (
                    "unshare",
                    "--map-root-user",
                    "--mount",
                    "sh",
                    "-c",
                    f'mount --bind {useless} /usr/bin/bwrap && exec "$0" "$@"',
                )
                self.home.start(self.gateway, self.new_token("desk"), prefix=hidden)
                self.gateway.wait_listed("other__x")
                self.home.wait_state("org.example.tester", "left out")
                self.assertIn(
                    "this bridge cannot reach the provider",
                    self.home.provider_status("org.example.tester")["problem"],
                )
                self.assertNotIn("tester__run", self.gateway.tools())
                self.home.end()
        self.assertFalse(ran.exists())
        self.assertTrue(other.calls)

    def test_cetp_62_a_cancelled_command_is_gone_with_all_it_started(self) -> None:
        marker = f"32{os.getpid()}"
        self.script("slow", f"sleep {marker} & sleep {marker}")
        self.connect()
        self.gateway.wait_listed("slow__run")
        call_id = str(uuid.uuid4())
        running = self.gateway.start_call(f"{self.slug}__slow__run", {}, call_id=call_id)
        eventually(lambda: self._is_running(marker), "the command runs")
        self.gateway.cancel(call_id)
        eventually(
            lambda: not self._is_running(marker),
            "the whole group is gone, 25 s before the deadline",
        )
        self.assertEqual(running.result(5).code, "CANCELLED")

    def test_cetp_59_a_command_past_its_deadline_is_gone_with_all_it_started(self) -> None:
        marker = f"31{os.getpid()}"
        self.script("slow", f"sleep {marker} & sleep {marker}")
        self.connect()
        watch = Stopwatch()
        self.assertIn("no answer within", self.run_tool("slow", timeout_ms=2000).error["message"])
        self.assertLess(watch.seconds, 5)
        eventually(lambda: not self._is_running(marker), "the whole group is gone", 1.5)

    def _is_running(self, word: str) -> bool:
        return any(self._runs(folder, word) for folder in Path("/proc").iterdir())

    @staticmethod
    def _runs(folder: Path, word: str) -> bool:
        try:
            return folder.name.isdigit() and word.encode() in (
                folder / "cmdline"
            ).read_bytes().split(b"\0")
        except OSError:
            return False

    def test_a_command_that_wishes_for_more_is_off_until_the_user_agrees(self) -> None:
        (self.home.folder / "secret").write_text("of mine")
        self.script(
            "reader",
            f"printf '{{\"status\":\"success\",\"data\":\"%s\"}}' \"$(cat "
            f"{self.home.folder}/secret)\"",
            Home="read",
        )
        self.connect()
        self.assertEqual(self.home.provider_status("org.example.reader")["state"], "off")
        self.assertIn("home", self.home.crab("list").stdout)
        self.home.crab("enable", "org.example.reader")
        self.assertEqual(self.run_tool("reader").result, {"text": "of mine"})


if __name__ == "__main__":
    unittest.main()
