"""A private session bus: `dbus-daemon` with service files of its own, as a context manager."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path


SYSTEM_PYTHON = "/usr/bin/python3"  # where Debian's D-Bus modules are


def has_module(name: str) -> bool:
    """Whether the system's Python has it."""
    return subprocess.run([SYSTEM_PYTHON, "-c", f"import {name}"], capture_output=True).returncode == 0


class SessionBus:
    """A bus in `folder`; started programs get `environment` beside its address. Services are declared with `service()`."""

    def __init__(self, folder: Path, environment: Mapping[str, str], name: str = "bus") -> None:
        self.services = folder / f"{name}-services"
        self.services.mkdir()
        self.address = f"unix:path={folder / name}"
        self._socket = folder / name
        self._config = folder / f"{name}.conf"
        self._config.write_text(f"""<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>{self.address}</listen><servicedir>{self.services}</servicedir>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
<deny send_destination="org.example.Denied"/></policy></busconfig>""")
        self._environment = dict(environment)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(["dbus-daemon", f"--config-file={self._config}", "--nofork", "--nopidfile", "--print-address=1"],
                                        env=self._environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
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
