"""The adapters inside `crab bridge`, over private buses: docs/protocols/cetp.md, section 5.

Real daemons where they run without a desktop, python3-dbusmock and players of a few lines where
they do not."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
import unittest
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.bridge import BridgeHome
from support.bus import SYSTEM_PYTHON, SessionBus, has_module
from support.case import GatewayCase
from support.wait import eventually


@unittest.skipUnless(shutil.which("dbus-daemon"), "no dbus-daemon")
class BuiltInCase(GatewayCase):
    """A session bus and a system bus of their own; `crab bridge call` is how adapters are asked."""

    def setUp(self) -> None:
        self.home = BridgeHome()
        self.addCleanup(self.home.close)
        self.system = self.bus("system-bus", "DBUS_SYSTEM_BUS_ADDRESS")
        self.session = self.bus("session-bus", "DBUS_SESSION_BUS_ADDRESS")

    def bus(self, name: str, variable: str) -> SessionBus:
        bus = SessionBus(self.home.folder, self.home.environment, name)
        bus.start()
        self.addCleanup(bus.stop)
        self.home.environment[variable] = bus.address
        return bus

    def run_beside(self, *command: str, owns: str, on: SessionBus) -> subprocess.Popen[bytes]:
        """Starts a service and waits until it has its name."""
        with open(self.home.folder / f"{owns}.log", "wb") as log:
            process = subprocess.Popen(
                command, env=self.home.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.addCleanup(process.wait, 10)
        self.addCleanup(process.kill)
        eventually(lambda: self.owned(owns, on), f"{owns} is on the bus", 15)
        return process

    def owned(self, name: str, on: SessionBus) -> bool:
        words = [
            "dbus-send",
            f"--bus={on.address}",
            "--dest=org.freedesktop.DBus",
            "--print-reply=literal",
            "/",
            "org.freedesktop.DBus.NameHasOwner",
            f"string:{name}",
        ]
        return "true" in subprocess.run(words, capture_output=True, text=True).stdout

    def mock(
        self, template: str, name: str, on: SessionBus, parameters: Mapping[str, Any] | None = None
    ) -> None:
        kind = "--system" if on is self.system else "--session"
        self.run_beside(
            SYSTEM_PYTHON,
            "-m",
            "dbusmock",
            kind,
            "--template",
            template,
            "--parameters",
            json.dumps(parameters or {}),
            owns=name,
            on=on,
        )

    def mocked(self, on: SessionBus, name: str, path: str, member: str, *arguments: str) -> None:
        """Calls a method of a mock, arguments in the text form of gdbus."""
        words = [
            "gdbus",
            "call",
            "--address",
            on.address,
            "--dest",
            name,
            "--object-path",
            path,
            "--method",
            member,
            "--",
            *arguments,
        ]
        done = subprocess.run(words, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def ask(self, label: str, tool: str, args: Any = None) -> Any:
        done = self.home.crab("call", f"crab.{label}", tool, json.dumps(args or {}))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def refusal(self, label: str, tool: str, args: Any = None) -> str:
        done = self.home.crab("call", f"crab.{label}", tool, json.dumps(args or {}))
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stderr


class Clock(BuiltInCase):
    def test_the_time_is_known_without_any_service(self) -> None:
        now = self.ask("time", "now")
        self.assertRegex(now["utc"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertRegex(now["local"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$")
        self.assertEqual(self.ask("time", "locale")["session"]["LANG"], "C.UTF-8")
        self.assertIn("[INVALID_ARGS]", self.refusal("time", "now", {"zone": 1}))
        self.assertIn("[TOOL_NOT_FOUND]", self.refusal("time", "then"))

    @unittest.skipUnless(has_module("dbusmock"), "no python3-dbusmock")
    def test_the_time_service_adds_zone_and_synchronization(self) -> None:
        self.mock(
            "timedated", "org.freedesktop.timedate1", self.system, {"Timezone": "Europe/Berlin"}
        )
        now = self.ask("time", "now")
        self.assertEqual(
            (now["timezone"], now["ntp"], now["hardware_clock_is_local"]),
            ("Europe/Berlin", True, False),
        )

    @unittest.skipUnless(os.access("/lib/systemd/systemd-localed", os.X_OK), "no systemd-localed")
    def test_the_locale_of_the_system_comes_from_localed(self) -> None:
        self.run_beside(
            "/lib/systemd/systemd-localed", owns="org.freedesktop.locale1", on=self.system
        )
        self.assertIsInstance(self.ask("time", "locale")["system"], dict)


class System(BuiltInCase):
    def test_the_kernel_is_asked_where_no_service_is(self) -> None:
        info = self.ask("system", "info")
        self.assertEqual(info["hostname"], os.uname().nodename)
        self.assertGreater(info["memory"]["total_bytes"], 0)

    @unittest.skipUnless(
        os.access("/lib/systemd/systemd-hostnamed", os.X_OK), "no systemd-hostnamed"
    )
    def test_hostnamed_adds_what_it_knows(self) -> None:
        self.run_beside(
            "/lib/systemd/systemd-hostnamed", owns="org.freedesktop.hostname1", on=self.system
        )
        name = re.search('^PRETTY_NAME="?([^"\n]*)', Path("/etc/os-release").read_text(), re.M)[1]
        self.assertEqual(self.ask("system", "info")["os"], name)


class Battery(BuiltInCase):
    def test_without_upower_nothing_is_offered(self) -> None:
        self.assertIn(
            "org.freedesktop.UPower is not there", self.home.crab("call", "crab.battery").stderr
        )

    @unittest.skipUnless(has_module("dbusmock"), "no python3-dbusmock")
    def test_the_batteries_of_a_laptop(self) -> None:
        self.mock("upower", "org.freedesktop.UPower", self.system, {"OnBattery": True})
        upower = ("org.freedesktop.UPower", "/org/freedesktop/UPower")
        self.mocked(self.system, *upower, "org.freedesktop.DBus.Mock.AddAC", "mock_AC", "Charger")
        self.mocked(
            self.system,
            *upower,
            "org.freedesktop.DBus.Mock.AddDischargingBattery",
            "mock_BAT",
            "Main",
            "30.0",
            "1200",
        )
        status = self.ask("battery", "status")
        self.assertTrue(status["on_battery"])
        [battery] = status["batteries"]
        self.assertEqual(
            (battery["kind"], battery["state"], battery["percent"], battery["seconds_to_empty"]),
            ("battery", "discharging", 30, 1200),
        )

    @unittest.skipUnless(os.access("/usr/libexec/upowerd", os.X_OK), "no upowerd")
    def test_upower_itself_answers(self) -> None:
        self.run_beside("/usr/libexec/upowerd", owns="org.freedesktop.UPower", on=self.system)
        self.assertIsInstance(self.ask("battery", "status")["batteries"], list)


@unittest.skipUnless(has_module("dbusmock"), "no python3-dbusmock")
class Media(BuiltInCase):
    def player(self, name: str, script: str) -> None:
        path = self.home.folder / f"{name}.py"
        path.write_text(PLAYER.replace("NAME", name) + script)
        self.run_beside(
            SYSTEM_PYTHON, str(path), owns=f"org.mpris.MediaPlayer2.{name}", on=self.session
        )

    def test_what_players_play_and_one_that_hangs_delays_nobody(self) -> None:
        self.assertEqual(self.ask("media", "now_playing"), {"players": []})
        self.player("tune", "loop.run()\n")
        self.player("stuck", "import time\nwhile True: time.sleep(60)\n")
        self.assertEqual(
            self.ask("media", "now_playing"),
            {
                "players": [
                    {
                        "player": "Tune box",
                        "state": "playing",
                        "title": "Größe",
                        "artists": ["A", "B"],
                        "album": "C",
                        "length_seconds": 61,
                        "position_seconds": 2,
                    }
                ]
            },
        )


PLAYER = '''
import dbus, dbus.service, dbus.mainloop.glib
from gi.repository import GLib
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
loop = GLib.MainLoop()
bus = dbus.SessionBus()
held = dbus.service.BusName("org.mpris.MediaPlayer2.NAME", bus)
TRACK = {"xesam:title": "Größe", "xesam:artist": dbus.Array(["A", "B"], "s"), "xesam:album": "C",
         "mpris:length": dbus.Int64(61500000)}
class Player(dbus.service.Object):
    @dbus.service.method("org.freedesktop.DBus.Properties", "s", "a{sv}")
    def GetAll(self, interface):
        if interface == "org.mpris.MediaPlayer2":
            return {"Identity": "Tune box"}
        return {"PlaybackStatus": "Playing", "Metadata": dbus.Dictionary(TRACK, "sv"),
                "Position": dbus.Int64(2100000)}
player = Player(bus, "/org/mpris/MediaPlayer2")
'''


@unittest.skipUnless(has_module("dbusmock"), "no python3-dbusmock")
class Network(BuiltInCase):
    def test_devices_addresses_and_the_wireless_network(self) -> None:
        self.mock(
            "networkmanager",
            "org.freedesktop.NetworkManager",
            self.system,
            {"NetworkingEnabled": True},
        )
        manager = ("org.freedesktop.NetworkManager", "/org/freedesktop/NetworkManager")
        mock = "org.freedesktop.DBus.Mock."
        self.mocked(
            self.system, *manager, mock + "AddEthernetDevice", "mock_Ethernet1", "eth0", "100"
        )
        self.mocked(self.system, *manager, mock + "AddWiFiDevice", "mock_WiFi1", "wlan0", "100")
        self.mocked(
            self.system,
            *manager,
            mock + "AddAccessPoint",
            "/org/freedesktop/NetworkManager/Devices/mock_WiFi1",
            "mock_AP1",
            "Café",
            "11:22:33:44:55:66",
            "2",
            "2425",
            "5400",
            "82",
            "0x100",
        )
        status = self.ask("network", "status")
        devices = {device["interface"]: device for device in status["devices"]}
        self.assertEqual(
            (devices["eth0"]["type"], devices["eth0"]["state"]), ("ethernet", "connected")
        )
        self.assertEqual(
            (devices["wlan0"]["type"], devices["wlan0"]["state"]), ("wifi", "connected")
        )
        self.assertIn(status["connectivity"], ("full", "unknown"))


@unittest.skipUnless(has_module("dbusmock"), "no python3-dbusmock")
class Hardware(BuiltInCase):
    def test_the_power_profile_and_who_holds_it(self) -> None:
        self.assertIn(
            "net.hadess.PowerProfiles is not there", self.home.crab("call", "crab.power").stderr
        )
        self.mock(
            "power_profiles_daemon",
            "net.hadess.PowerProfiles",
            self.system,
            {"ActiveProfile": "power-saver", "PerformanceDegraded": "lap-detected"},
        )
        self.assertEqual(
            self.ask("power", "status"),
            {
                "profile": "power-saver",
                "performance_degraded_by": "lap-detected",
                "profiles": ["power-saver", "balanced", "performance"],
                "held_by": [],
            },
        )

    def test_bluetooth_devices_without_their_addresses(self) -> None:
        self.mock("bluez5", "org.bluez", self.system)
        bluez, mock = ("org.bluez", "/"), "org.bluez.Mock."
        self.assertEqual(self.ask("bluetooth", "status"), {"adapters": [], "devices": []})
        self.mocked(self.system, "org.bluez", "/org/bluez", mock + "AddAdapter", "hci0", "Desk")
        self.mocked(
            self.system,
            "org.bluez",
            "/org/bluez",
            mock + "AddDevice",
            "hci0",
            "11:22:33:44:55:66",
            "Ada's headset",
        )
        self.mocked(
            self.system,
            "org.bluez",
            "/org/bluez",
            mock + "PairDevice",
            "hci0",
            "11:22:33:44:55:66",
            "5898764",
        )
        status = self.ask("bluetooth", "status")
        self.assertEqual([adapter["name"] for adapter in status["adapters"]], ["Desk"])
        [device] = status["devices"]
        self.assertEqual(
            (device["name"], device["paired"], device["connected"]), ("Ada's headset", True, False)
        )
        self.assertNotIn("11:22", json.dumps(status))

    def test_sensors_are_claimed_for_the_call_alone(self) -> None:
        self.assertIn(
            "net.hadess.SensorProxy is not there", self.home.crab("call", "crab.sensors").stderr
        )
        path = self.home.folder / "sensors.py"
        path.write_text(SENSORS)
        self.run_beside(SYSTEM_PYTHON, str(path), owns="net.hadess.SensorProxy", on=self.system)
        self.assertEqual(
            self.ask("sensors", "read"),
            {"orientation": "left-up", "light": 250.5, "light_unit": "lux"},
        )
        self.assertEqual(
            (self.home.folder / "claims").read_text().split(),
            ["ClaimAccelerometer", "ClaimLight", "ReleaseAccelerometer", "ReleaseLight"],
        )

    def test_paired_phones_and_what_they_show(self) -> None:
        self.assertIn(
            "org.kde.kdeconnect is not there", self.home.crab("call", "crab.phone").stderr
        )
        path = self.home.folder / "kdeconnect.py"
        path.write_text(KDE_CONNECT)
        self.run_beside(SYSTEM_PYTHON, str(path), owns="org.kde.kdeconnect", on=self.session)
        phone = {"name": "Ada's phone", "kind": "smartphone", "reachable": True}
        self.assertEqual(
            self.ask("phone", "phones"),
            {"phones": [{**phone, "battery_percent": 64, "charging": False}]},
        )
        self.assertEqual(
            self.ask("phone", "notifications"),
            {
                "phones": [
                    {**phone, "notifications": [{"app": "Chat", "title": "Bob", "text": "Größe?"}]}
                ]
            },
        )


#: A service that measures only while it is claimed, and writes down by whom.
SENSORS = '''
import os, dbus, dbus.service, dbus.mainloop.glib
from gi.repository import GLib
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SystemBus()
held = dbus.service.BusName("net.hadess.SensorProxy", bus)
log = open(os.path.join(os.path.dirname(__file__), "claims"), "w", buffering=1)
method = dbus.service.method("net.hadess.SensorProxy", "", "")
class Proxy(dbus.service.Object):
    claims = 0
    def act(self, name, change):
        self.claims += change
        print(name, file=log)
    @method
    def ClaimAccelerometer(self): self.act("ClaimAccelerometer", 1)
    @method
    def ClaimLight(self): self.act("ClaimLight", 1)
    @method
    def ReleaseAccelerometer(self): self.act("ReleaseAccelerometer", -1)
    @method
    def ReleaseLight(self): self.act("ReleaseLight", -1)
    @dbus.service.method("org.freedesktop.DBus.Properties", "s", "a{sv}")
    def GetAll(self, interface):
        on = self.claims > 0
        return {"HasAccelerometer": True, "HasAmbientLight": True,
                "AccelerometerOrientation": "left-up" if on else "undefined",
                "LightLevel": 250.5 if on else 0.0, "LightLevelUnit": "lux",
                "HasProximity": False, "ProximityNear": False}
proxy = Proxy(bus, "/net/hadess/SensorProxy")
GLib.MainLoop().run()
'''

#: One paired phone with one notification.
KDE_CONNECT = '''
import dbus, dbus.service, dbus.mainloop.glib
from gi.repository import GLib
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
held = dbus.service.BusName("org.kde.kdeconnect", bus)
class Daemon(dbus.service.Object):
    @dbus.service.method("org.kde.kdeconnect.daemon", "bb", "as")
    def devices(self, reachable, paired):
        assert paired and not reachable
        return ["a1"]
class Thing(dbus.service.Object):
    def __init__(self, path, properties):
        super().__init__(bus, path)
        self.properties = properties
    @dbus.service.method("org.freedesktop.DBus.Properties", "s", "a{sv}")
    def GetAll(self, interface):
        return dbus.Dictionary(self.properties, "sv")
class Notifications(dbus.service.Object):
    @dbus.service.method("org.kde.kdeconnect.device.notifications", "", "as")
    def activeNotifications(self):
        return ["n1", "gone"]
phone = "/modules/kdeconnect/devices/a1"
things = [Daemon(bus, "/modules/kdeconnect"),
          Thing(phone, {"name": "Ada's phone", "type": "smartphone", "isReachable": True}),
          Thing(phone + "/battery", {"charge": dbus.Int32(64), "isCharging": False}),
          Notifications(bus, phone + "/notifications"),
          Thing(phone + "/notifications/n1", {"appName": "Chat", "title": "Bob", "text": "Größe?"})]
GLib.MainLoop().run()
'''


JOURNAL_REMOTE = "/lib/systemd/systemd-journal-remote"


class Journal(BuiltInCase):
    ENTRIES = (
        (3, "disk.service", "the disk is full", 60),
        (6, "disk.service", "a line of Größe 1", 120),
        (6, "net.service", "up", 180),
        (3, "old.service", "long ago", 7200),
    )

    def write_journal(self) -> None:
        """Entries so many seconds old, in a folder of journal files made by systemd's own tool."""
        folder = self.home.folder / "journal"
        folder.mkdir()
        now = int(time.time() * 1_000_000)
        text = "".join(
            f"__REALTIME_TIMESTAMP={now - age * 1_000_000}\n"
            f"__MONOTONIC_TIMESTAMP={10**12 - age * 1_000_000}\n_BOOT_ID={'1' * 32}\n"
            f"PRIORITY={priority}\n"
            f"_SYSTEMD_UNIT={unit}\nMESSAGE={message}\n\n"
            for priority, unit, message, age in sorted(self.ENTRIES, key=lambda entry: -entry[3])
        )
        subprocess.run(
            [JOURNAL_REMOTE, f"--output={folder}/test.journal", "--split-mode=none", "-"],
            input=text.encode(),
            check=True,
            capture_output=True,
        )
        self.home.environment["CRAB_JOURNAL_FOLDER"] = str(folder)

    def messages(self, **args: Any) -> list[str]:
        return [entry["message"] for entry in self.ask("journal", "entries", args)["entries"]]

    @unittest.skipUnless(os.access(JOURNAL_REMOTE, os.X_OK), "no systemd-journal-remote")
    def test_entries_are_found_by_unit_severity_text_and_age(self) -> None:
        self.write_journal()
        self.assertEqual(self.messages(), ["the disk is full", "a line of Größe 1", "up"])
        self.assertEqual(self.messages(unit="disk.service", priority=3), ["the disk is full"])
        self.assertEqual(self.messages(contains="Größe"), ["a line of Größe 1"])
        self.assertEqual(self.messages(minutes=180, limit=1, unit="old.service"), ["long ago"])
        [entry] = self.ask("journal", "entries", {"limit": 1})["entries"]
        self.assertEqual((entry["unit"], entry["priority"]), ("disk.service", "error"))

    def test_without_a_journal_nothing_is_offered(self) -> None:
        self.home.environment["CRAB_JOURNAL_FOLDER"] = str(self.home.folder)
        self.assertIn("there is no journal", self.home.crab("call", "crab.journal").stderr)

    @unittest.skipUnless(has_module("dbusmock"), "no python3-dbusmock")
    def test_units_that_have_failed(self) -> None:
        path = self.home.folder / "systemd.py"
        path.write_text(SYSTEMD)
        self.run_beside(SYSTEM_PYTHON, str(path), owns="org.freedesktop.systemd1", on=self.system)
        self.assertEqual(
            self.ask("journal", "failed_units"),
            {"system": [{"unit": "disk.service", "description": "The disk", "state": "failed"}]},
        )


SYSTEMD = '''
import dbus, dbus.service, dbus.mainloop.glib
from gi.repository import GLib
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SystemBus()
held = dbus.service.BusName("org.freedesktop.systemd1", bus)
class Manager(dbus.service.Object):
    @dbus.service.method("org.freedesktop.systemd1.Manager", "as", "a(ssssssouso)")
    def ListUnitsFiltered(self, states):
        assert states == ["failed"]
        return [("disk.service", "The disk", "loaded", "failed", "failed", "", "/u", 0, "", "/")]
manager = Manager(bus, "/org/freedesktop/systemd1")
GLib.MainLoop().run()
'''


EVOLUTION = Path("/usr/libexec/evolution-source-registry")
EDS = "org.gnome.evolution.dataserver."


@unittest.skipUnless(EVOLUTION.exists(), "no evolution-data-server")
class Evolution(BuiltInCase):
    """Address book and calendar of the real data server, in a home of their own."""

    def setUp(self) -> None:
        super().setUp()
        for name, program in (
            ("Sources5", "source-registry"),
            ("AddressBook10", "addressbook-factory"),
            ("Calendar8", "calendar-factory"),
        ):
            self.session.service(
                EDS + name,
                "/usr/bin/env",
                "XDG_DATA_DIRS=/usr/share",
                "GSETTINGS_BACKEND=memory",
                EVOLUTION.parent / f"evolution-{program}",
            )

    def fill(
        self, service: str, factory: str, interface: str, uid: str, member: str, *items: str
    ) -> None:
        """Opens a collection and puts items into it, as an app of the desktop does."""
        script = self.home.folder / "fill.py"
        script.write_text(FILL)
        words = [
            SYSTEM_PYTHON,
            str(script),
            EDS + service,
            EDS + factory,
            EDS + interface,
            uid,
            member,
            *items,
        ]
        done = subprocess.run(
            words, env=self.home.environment, capture_output=True, text=True, timeout=60
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(has_module("dbusmock"), "no python3-dbus")
    def test_contacts_are_found_by_any_field(self) -> None:
        ada = (
            "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:a\r\nFN:Ada "
            "Größe\r\nN:Größe;Ada;;;\r\nORG:Sums\\; "
            "Co;Engines\r\nEMAIL;TYPE=WORK:ada@example.org\r\nTEL;TYPE=CELL:+43 1 "
            "23\r\nEND:VCARD"
        )
        bob = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:b\r\nFN:Bob\r\nN:;Bob;;;\r\nEND:VCARD"
        self.fill(
            "AddressBook10",
            "AddressBookFactory",
            "AddressBook",
            "system-address-book",
            "CreateContacts",
            ada,
            bob,
        )
        found = self.ask("contacts", "search", {"text": "example.org"})
        self.assertEqual(found["matches"], 1)
        [contact] = found["contacts"]
        self.assertEqual(
            (contact["name"], contact["organization"]), ("Ada Größe", "Sums; Co, Engines")
        )
        self.assertEqual(contact["emails"], [{"address": "ada@example.org", "kind": "WORK"}])
        self.assertEqual(self.ask("contacts", "search", {"text": 'no "one" \\'})["contacts"], [])

    @unittest.skipUnless(has_module("dbusmock"), "no python3-dbus")
    def test_events_of_some_days(self) -> None:
        event = (
            "BEGIN:VEVENT\r\nUID:e1\r\nDTSTAMP:20261101T000000Z\r\nDTSTART:20261121T093000Z\r\n"
            "DTEND:20261121T103000Z\r\nSUMMARY:Chess\\, with Ada\r\nLOCATION:Library\r\n"
            "BEGIN:VALARM\r\nACTION:DISPLAY\r\nDESCRIPTION:Wake "
            "up\r\nTRIGGER:-PT5M\r\nEND:VALARM\r\nEND:VEVENT"
        )
        whole = (
            "BEGIN:VEVENT\r\nUID:e2\r\nDTSTAMP:20261101T000000Z\r\nDTSTART;VALUE=DATE:20261122\r\n"
            "SUMMARY:Fair\r\nRRULE:FREQ=YEARLY\r\nEND:VEVENT"
        )
        self.fill(
            "Calendar8",
            "CalendarFactory",
            "Calendar",
            "system-calendar",
            "CreateObjects",
            event,
            whole,
        )
        events = self.ask("calendar", "events", {"from": "2026-11-21", "days": 2})["events"]
        self.assertEqual(
            [(entry["summary"], entry["start"]) for entry in events],
            [("Chess, with Ada", "2026-11-21T09:30:00Z"), ("Fair", "2026-11-22")],
        )
        self.assertEqual(
            (events[0]["location"], events[0].get("description"), events[1]["repeats"]),
            ("Library", None, "FREQ=YEARLY"),
        )
        self.assertEqual(
            self.ask("calendar", "events", {"from": "2026-11-01", "days": 1})["events"], []
        )
        self.assertIn("/from", self.refusal("calendar", "events", {"from": "2026-02-30"}))
        self.assertTrue(self.ask("calendar", "calendars")["calendars"])

    def test_without_the_data_server_nothing_is_offered(self) -> None:
        for service in self.session.services.iterdir():
            service.unlink()
        self.assertIn("is not there", self.home.crab("call", "crab.contacts").stderr)


FILL = '''
import sys, dbus
service, factory, interface, uid, member, *items = sys.argv[1:]
bus = dbus.SessionBus()
made = dbus.Interface(bus.get_object(service, "/" + factory.replace(".", "/")), factory)
path, owner = getattr(made, "OpenAddressBook" if "Address" in factory else "OpenCalendar")(uid)
collection = dbus.Interface(bus.get_object(owner, path), interface)
collection.Open()
getattr(collection, member)(dbus.Array(items, "s"), dbus.UInt32(0))
'''


@unittest.skipUnless(has_module("dbusmock"), "no python3-dbus")
class Search(BuiltInCase):
    def app(self, name: str, script: str, ini: str, folder: str) -> None:
        path = self.home.folder / f"{name}.py"
        path.write_text(SEARCHED.replace("NAME", name) + script)
        self.run_beside(SYSTEM_PYTHON, str(path), owns=f"org.example.{name}", on=self.session)
        self.home.write(
            self.home.folder
            / "data"
            / folder
            / f"{name}.{'ini' if 'gnome' in folder else 'desktop'}",
            ini,
        )

    def test_apps_are_asked_at_once_and_one_that_hangs_is_named(self) -> None:
        self.assertIn("no app offers search results", self.home.crab("call", "crab.search").stderr)
        gnome = "gnome-shell/search-providers"
        for name, script in (
            ("Sums", "loop.run()"),
            ("Stuck", "import time\nwhile True: time.sleep(60)"),
        ):
            self.app(
                name,
                script,
                f"[Shell Search Provider]\nDesktopId={name}.desktop\nBusName=org.example.{name}\n"
                f"ObjectPath=/search\nVersion=2\n",
                gnome,
            )
        self.home.write(
            self.home.applications / "Sums.desktop",
            "[Desktop Entry]\nType=Application\nName=Calculator\nExec=x\n",
        )
        self.app(
            "Runner",
            "loop.run()",
            "[Desktop Entry]\nName=Runner\nX-Plasma-API=DBus\n"
            "X-Plasma-DBusRunner-Service=org.example.Runner\nX-Plasma-DBusRunner-Path=/search\n",
            "krunner/dbusplugins",
        )
        answer = self.ask("search", "search", {"text": "two  words", "limit": 1})
        self.assertEqual(
            answer["results"],
            [
                {"app": "Calculator", "name": "two", "description": "of 2 words"},
                {"app": "Runner", "name": "two  words!", "description": "run"},
            ],
        )
        self.assertEqual(answer["without_answer"], ["Stuck"])


SEARCHED = '''
import dbus, dbus.service, dbus.mainloop.glib
from gi.repository import GLib
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
loop = GLib.MainLoop()
bus = dbus.SessionBus()
held = dbus.service.BusName("org.example.NAME", bus)
class App(dbus.service.Object):
    words = 0
    @dbus.service.method("org.gnome.Shell.SearchProvider2", "as", "as")
    def GetInitialResultSet(self, terms):
        self.words = len(terms)
        return terms
    @dbus.service.method("org.gnome.Shell.SearchProvider2", "as", "aa{sv}")
    def GetResultMetas(self, ids):
        return [{"id": name, "name": name, "description": f"of {self.words} words"} for name in ids]
    @dbus.service.method("org.kde.krunner1", "s", "a(sssida{sv})")
    def Match(self, text):
        return [("1", text + "!", "icon", 100, 0.9, dbus.Dictionary({"subtext": "run"}, "sv"))] * 3
app = App(bus, "/search")
'''


@unittest.skipUnless(shutil.which("Xvfb") and shutil.which("xclip"), "no Xvfb, or no xclip")
class Clipboard(BuiltInCase):
    def test_the_text_that_was_copied(self) -> None:
        self.assertIn("there is no desktop", self.home.crab("call", "crab.clipboard").stderr)
        reader, writer = os.pipe()
        screen = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writer), "-nolisten", "tcp", "-screen", "0", "64x64x8"],
            pass_fds=[writer],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(screen.wait, 10)
        self.addCleanup(screen.terminate)
        os.close(writer)
        with os.fdopen(reader) as number:
            self.home.environment["DISPLAY"] = f":{number.readline().strip()}"
        self.assertIn("holds no text", self.refusal("clipboard", "text"))
        owner = subprocess.Popen(
            ["xclip", "-quiet", "-in", "-selection", "clipboard"],
            env=self.home.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(owner.wait, 10)
        self.addCleanup(owner.kill)
        owner.stdin.write("Größe\n".encode())
        owner.stdin.close()
        eventually(
            lambda: self.home.crab("call", "crab.clipboard", "text", "{}").returncode == 0,
            "something is copied",
        )
        self.assertEqual(self.ask("clipboard", "text"), {"text": "Größe\n"})


class AtTheGateway(BuiltInCase):
    def test_they_are_listed_switched_and_called_like_any_other_provider(self) -> None:
        listed = {
            entry["id"]: entry
            for entry in json.loads(self.home.crab("list", "-o", "json").stdout)["providers"]
        }
        self.assertEqual(
            (listed["crab.time"]["transport"], listed["crab.time"]["enabled"]), ("built-in", False)
        )
        self.home.start(self.gateway, self.new_token("desk"))
        self.home.crab("enable", "crab.time")
        self.gateway.wait_listed("time__now")
        self.assertIn(
            "utc", json.loads(self.gateway.call(f"{self.slug}__time__now", {}).result["text"])
        )
        self.assertEqual(self.home.provider_status("crab.time")["label"], "time")
        self.home.crab("disable", "crab.time")
        eventually(lambda: "time__now" not in self.gateway.tools(), "it has left")

    def test_the_defaults_are_those_of_the_page(self) -> None:
        self.home.choices.unlink()
        listed = json.loads(self.home.crab("list", "-o", "json").stdout)["providers"]
        self.assertEqual(
            {entry["id"].removeprefix("crab.") for entry in listed if entry["enabled"]},
            {"battery", "media", "system", "time"},
        )

    def test_an_app_cannot_take_the_label_or_the_id_of_an_adapter(self) -> None:
        self.home.crab("enable", "crab.time")
        self.home.provider("org.example.Time", {"name": "now", "parameters": {"type": "object"}})
        self.home.provider("crab.time", {"name": "stolen", "parameters": {"type": "object"}})
        self.home.start(self.gateway, self.new_token("desk"))
        self.gateway.wait_listed("time__now", "time_2__now")
        self.assertNotIn("time__stolen", self.gateway.tools())


if __name__ == "__main__":
    unittest.main()
