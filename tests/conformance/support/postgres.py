"""A PostgreSQL server of a test's own: in a temporary folder, on a Unix socket in it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from .wait import eventually


def programs() -> Path | None:
    """Where initdb and postgres of the newest version are; None: it is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


class Postgres:
    """A context manager. PostgreSQL does not run as root: there it runs as the user of Debian's
    package. Nobody but this machine's users reach it, without a password."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="crab-pg-"))
        self._as_user: list[str] = []
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self._as_user = [
                "setpriv",
                f"--reuid={user.pw_uid}",
                f"--regid={user.pw_gid}",
                "--clear-groups",
                "--pdeathsig=QUIT",
            ]
            # The gateway of the tests runs as root too, and looks for the socket in here.
            self.folder.chmod(0o711)
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Postgres:
        self._run(
            "initdb",
            *("-D", str(self.folder / "data"), "-U", "crab", "-A", "trust", "-E", "UTF8"),
            *("--locale=C", "--no-sync", "--no-instructions"),
        )
        self.start()
        self._run("createdb", "-h", str(self.folder), "-U", "crab", "crab")
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def dsn(self) -> str:
        return f"host={self.folder} user=crab dbname=crab"

    def start(self, *settings: str) -> None:
        options = [
            "listen_addresses=",
            f"unix_socket_directories={self.folder}",
            "dynamic_shared_memory_type=mmap",  # of shared memory a crash would leave something
            *settings,
        ]
        self._server = subprocess.Popen(
            [
                *self._command("postgres"),
                *("-D", str(self.folder / "data")),
                *(word for option in options for word in ("-c", option)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
        )
        eventually(self._is_ready, "PostgreSQL answers", 30)

    def stop(self) -> None:
        """At once, as a crash."""
        if self._server:
            self._server.send_signal(signal.SIGQUIT)
            self._server.wait(20)
            self._server = None

    def ask(self, sql: str) -> str:
        """What psql prints for a statement, without headings."""
        return self._run("psql", "-h", str(self.folder), "-U", "crab", "-Atqc", sql, "crab")

    def dump(self) -> None:
        """The database in a file, as `pg_dump` makes it while others write."""
        self._run("pg_dump", *("-h", str(self.folder), "-U", "crab", "-Fc", "-f", "dump", "crab"))

    def restore(self) -> None:
        """A new database in the place of the present one, from dump()."""
        place = ("-h", str(self.folder), "-U", "crab")
        self._run("dropdb", *place, "--force", "crab")
        self._run("createdb", *place, "crab")
        self._run("pg_restore", *place, "-d", "crab", "--exit-on-error", "dump")

    def _is_ready(self) -> bool:
        done = subprocess.run(
            [*self._command("pg_isready"), "-q", "-h", str(self.folder)], cwd=self.folder
        )
        return done.returncode == 0

    def _command(self, program: str) -> list[str]:
        return [*self._as_user, str(programs() / program)]

    def _run(self, program: str, *words: str) -> str:
        done = subprocess.run(
            [*self._command(program), *words],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=self.folder,
        )
        assert done.returncode == 0, f"{program}: {done.stderr}"
        return done.stdout.strip()
