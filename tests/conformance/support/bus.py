"""A private session bus: `dbus-daemon` with service files of its own, as a context manager."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .wait import eventually


SYSTEM_PYTHON = "/usr/bin/python3"  # where Debian's D-Bus modules are


def has_module(name: str) -> bool:
    """Whether the system's Python has it."""
    return (
        subprocess.run([SYSTEM_PYTHON, "-c", f"import {name}"], capture_output=True).returncode == 0
    )


@dataclass
class Message:
    """What a monitor saw: a call's `member` and its first text, or the name of the error that
    answered the call with that serial."""

    sender: str
    destination: str
    serial: str
    member: str = ""
    text: str = ""
    error: str = ""


class Monitor:
    """`dbus-monitor` on a bus, from its making until close(). It sees calls that the bus itself
    refuses, too."""

    _CALL = re.compile(
        r"method call time=\S+ sender=(\S+) -> destination=(\S+) serial=(\d+) .*member=(\S+)"
    )
    _ERROR = re.compile(
        r"error time=\S+ sender=(\S+) -> destination=(\S+) error_name=(\S+) reply_serial=(\d+)"
    )

    def __init__(self, address: str, seen: Path) -> None:
        self._address, self._seen, self._marks = address, seen, 0
        with open(seen, "wb") as out:
            self._process = subprocess.Popen(
                ["dbus-monitor", "--address", address], stdout=out, stdin=subprocess.DEVNULL
            )
        eventually(lambda: "NameLost" in seen.read_text(), "the monitor sees the bus")

    def close(self) -> None:
        self._process.kill()
        self._process.wait(10)

    def messages(self) -> list[Message]:
        """Calls and errors so far, in order: all that the bus carried before a question of our
        own."""
        self._marks += 1
        mark = f"org.example.Mark{self._marks}"
        ask = [
            "dbus-send",
            f"--bus={self._address}",
            "--print-reply",
            "--dest=org.freedesktop.DBus",
            "/",
            "org.freedesktop.DBus.NameHasOwner",
            f"string:{mark}",
        ]
        subprocess.run(ask, check=True, capture_output=True, timeout=10)
        eventually(lambda: mark in self._seen.read_text(), "the monitor has seen it")
        found: list[Message] = []
        for line in self._seen.read_text().splitlines():
            if call := self._CALL.match(line):
                found.append(Message(call[1], call[2], call[3], member=call[4]))
            elif error := self._ERROR.match(line):
                found.append(Message(error[1], error[2], error[4], error=error[3]))
            elif found and (text := re.fullmatch(r'   string "(.*)"', line)) and not found[-1].text:
                found[-1].text = text[1]
        return found

    def calls_about(self, name: str) -> list[str]:
        """What was asked of that name, or of the bus because of it: `Call list_tools`,
        `StartServiceByName`, …"""
        asked = [message for message in self.messages() if message.member]
        return [
            f"{each.member} {each.text}" if each.destination == name else each.member
            for each in asked
            if name in (each.destination, each.text)
            and each.member not in ("AddMatch", "RequestName", "GetNameOwner")
        ]

    def errors_about(self, name: str) -> list[str]:
        """The errors that answered such calls."""
        messages = self.messages()
        asked = {
            (each.sender, each.serial)
            for each in messages
            if each.member and name in (each.destination, each.text)
        }
        return [
            each.error
            for each in messages
            if each.error and (each.destination, each.serial) in asked
        ]


class SessionBus:
    """A bus in `folder`; started programs get `environment` beside its address. Services are
    declared with `service()`."""

    def __init__(self, folder: Path, environment: Mapping[str, str], name: str = "bus") -> None:
        self.services = folder / f"{name}-services"
        self.services.mkdir()
        self.address = f"unix:path={folder / name}"
        self._socket = folder / name
        self._config = folder / f"{name}.conf"
        self._write_config("org.example.Denied")
        self._environment = dict(environment)
        self.process: subprocess.Popen[bytes] | None = None

    def _write_config(self, denied: str) -> None:
        self._config.write_text(
            f"""<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
  "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type>
<listen>{self.address}</listen><servicedir>{self.services}</servicedir>
<policy context="default">
<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
<deny send_destination="{denied}"/></policy></busconfig>"""
        )

    def deny(self, name: str) -> None:
        """From now on the policy of the bus forbids to call that name, instead of
        org.example.Denied."""
        self._write_config(name)
        reload = [
            "dbus-send",
            f"--bus={self.address}",
            "--print-reply",
            "--dest=org.freedesktop.DBus",
            "/",
            "org.freedesktop.DBus.ReloadConfig",
        ]
        subprocess.run(reload, check=True, capture_output=True, timeout=10)

    def start(self) -> None:
        self.process = subprocess.Popen(
            [
                "dbus-daemon",
                f"--config-file={self._config}",
                "--nofork",
                "--nopidfile",
                "--print-address=1",
            ],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.process.stdout.readline(), "the bus did not start"

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(10)
        self.process.stdout.close()
        self.process = None
        self._socket.unlink(missing_ok=True)

    def service(self, name: str, *command: str | os.PathLike[str]) -> Path:
        """Lets the bus start `command` when somebody asks for `name`."""
        path = self.services / f"{name}.service"
        path.write_text(f"[D-BUS Service]\nName={name}\nExec={' '.join(map(str, command))}\n")
        return path
