"""What an operator does with a gateway's state: `crab backup`, `crab audit`, and what systemd is
told (docs/operations/running_the_gateway.md)."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
from collections.abc import Iterator
from pathlib import Path

from support import released_state
from support.gateway import Gateway, program
from support.wait import eventually

_MEMORY = {"built_in_hosts": {"memory": True}}


class StateTest(unittest.TestCase):
    def setUp(self) -> None:
        self.gateway = self.enterContext(Gateway(_MEMORY))

    def crab(self, *words: str, config: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program(), *words, "--config", str(config or self.gateway.config_file)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
        )

    def append(self, text: str, key: str) -> str:
        reply = self.gateway.call(
            "memory.append", {"entries": [{"text": text}]}, call_id=key, idempotency_key=key
        )
        self.assertEqual(reply.status, "ok", reply.body)
        return key


class BackupTest(StateTest):
    def setUp(self) -> None:
        super().setUp()
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_a_gateway_goes_on_from_a_backup_that_was_taken_while_it_ran(self) -> None:
        token = self.gateway.caller_token()
        self.append("the kettle is blue", "before")
        saved = self.crab("backup", str(self.folder / "copy"), "-o", "json")
        self.assertEqual(saved.returncode, 0, saved.stderr)
        names = {entry["name"] for entry in json.loads(saved.stdout)["files"]}
        self.assertLessEqual(
            {"trust.db", "ledger.db", "audit.db", "memory.db", "sessions.db", "events.db"}, names
        )
        self.append("this comes after the backup", "after")
        self.gateway.stop()
        shutil.rmtree(self.gateway.folder / "state")
        shutil.copytree(self.folder / "copy", self.gateway.folder / "state")
        self.gateway.start()
        found = self.gateway.call("memory.query", {"query": "kettle"}, token=token).result
        self.assertIn("the kettle is blue", json.dumps(found))
        self.assertNotIn(
            "after the backup",
            json.dumps(self.gateway.call("memory.query", {"query": "backup"}, token=token).result),
        )
        self.append(
            "the kettle is blue", "before"
        )  # the ledger knows this call, so nothing is appended twice
        self.assertEqual(
            json.dumps(
                self.gateway.call("memory.query", {"query": "kettle"}, token=token).result
            ).count("the kettle is blue"),
            1,
        )
        self.assertEqual(self.crab("audit", "verify").returncode, 0)

    def test_a_backup_is_for_its_owner_only_and_leaves_no_journals(self) -> None:
        self.assertEqual(self.crab("backup", str(self.folder / "deep" / "copy")).returncode, 0)
        copy = self.folder / "deep" / "copy"
        for path in [copy, *copy.rglob("*")]:
            self.assertEqual(stat.S_IMODE(path.stat().st_mode) & 0o077, 0, path)
            self.assertFalse(path.name.endswith(("-wal", "-shm", ".partial")), path)

    def test_a_folder_that_is_there_is_not_touched(self) -> None:
        there = self.folder / "there"
        there.mkdir()
        refused = self.crab("backup", str(there))
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("is there already", refused.stderr)
        self.assertEqual(list(there.iterdir()), [])

    def test_a_backup_within_the_state_is_refused(self) -> None:
        refused = self.crab("backup", str(self.gateway.folder / "state" / "copy"))
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("cannot lie within", refused.stderr)

    def test_a_folder_without_anything_to_save_is_refused(self) -> None:
        empty = self.folder / "empty"
        empty.mkdir()
        config = self.folder / "other.yaml"
        config.write_text(f"gateway:\n  state_dir: {empty}\n")
        refused = self.crab("backup", str(self.folder / "copy"), config=config)
        self.assertNotEqual(refused.returncode, 0, refused.stdout)
        self.assertIn("holds nothing to save", refused.stderr)
        self.assertFalse((self.folder / "copy").exists())
        self.assertFalse((self.folder / "copy.partial").exists())

    def test_a_damaged_database_is_told_and_no_backup_appears(self) -> None:
        self.gateway.stop()
        (self.gateway.folder / "state" / "sessions.db").write_bytes(
            b"this is no database, and long enough to be taken for one" * 100
        )
        refused = self.crab("backup", str(self.folder / "copy"))
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("sessions.db", refused.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])


class RestoreTest(StateTest):
    def setUp(self) -> None:
        super().setUp()
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.copy = self.folder / "copy"
        self.state = self.gateway.folder / "state"

    def back_up(self) -> None:
        self.assertEqual(self.crab("backup", str(self.copy)).returncode, 0)

    def notes(self) -> str:
        token = self.gateway.caller_token()
        return json.dumps(
            self.gateway.call("memory.query", {"query": "kettle"}, token=token).result
        )

    def refused(self, *words: str) -> str:
        before = {path: path.read_bytes() for path in self.state.rglob("*.db")}
        done = self.crab("restore", *words)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual({path: path.read_bytes() for path in self.state.rglob("*.db")}, before)
        self.assertEqual(list(self.gateway.folder.glob("state.*")), [])
        return done.stderr

    def test_the_state_of_a_backup_comes_back_and_the_later_one_is_kept_beside(self) -> None:
        self.append("the kettle is blue", "before")
        self.back_up()
        self.append("the kettle is green", "after")
        self.gateway.stop()
        done = self.crab("restore", str(self.copy), "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        self.assertGreaterEqual(answer["databases"], 6)
        self.assertTrue(Path(answer["before"], "memory.db").exists())
        for path in [self.state, *self.state.rglob("*")]:
            self.assertEqual(stat.S_IMODE(path.stat().st_mode) & 0o077, 0, path)
        self.gateway.start()
        self.assertIn("blue", self.notes())
        self.assertNotIn("green", self.notes())
        self.append("the kettle is blue", "before")  # the ledger knows it
        self.assertEqual(self.notes().count("the kettle is blue"), 1)
        self.assertEqual(self.crab("audit", "verify").returncode, 0)

    def test_another_folder_becomes_a_state_folder(self) -> None:
        self.append("the kettle is blue", "before")
        self.back_up()
        self.gateway.stop()
        shutil.rmtree(self.state)
        elsewhere = self.folder / "new" / "host"
        done = self.crab("restore", str(self.copy), "--to", str(elsewhere))
        self.assertEqual(done.returncode, 0, done.stderr)
        shutil.copytree(elsewhere, self.state)
        self.gateway.start()
        self.assertIn("blue", self.notes())

    def test_a_running_gateway_is_left_alone(self) -> None:
        self.back_up()
        done = self.crab("restore", str(self.copy))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("another process uses", done.stderr)
        self.assertEqual(list(self.gateway.folder.glob("state.*")), [])

    def test_a_store_of_a_newer_program_is_refused_whichever_it_is(self) -> None:
        self.append("the kettle is blue", "before")
        self.back_up()
        self.gateway.stop()
        stores = 0
        for file in sorted(self.copy.rglob("*.db")):
            with contextlib.closing(sqlite3.connect(file)) as database:
                names = [name for (name,) in database.execute("SELECT name FROM crab_schema")]
                for name in names:
                    stores += 1
                    change = "UPDATE crab_schema SET version = version + ? WHERE name = ?"
                    database.execute(change, (100, name))
                    database.commit()
                    said = self.refused(str(self.copy))
                    self.assertIn(file.name, said)
                    self.assertIn(f"`{name}` has version 1", said)
                    self.assertIn("use the newer program", said)
                    database.execute(change, (-100, name))
                    database.commit()
        self.assertGreaterEqual(stores, 10)
        self.assertEqual(self.crab("restore", str(self.copy)).returncode, 0)

    def test_what_is_no_backup_is_refused(self) -> None:
        self.gateway.stop()
        self.assertIn("is not a folder", self.refused(str(self.folder / "nothing")))
        self.copy.mkdir()
        self.assertIn("holds no database", self.refused(str(self.copy)))
        (self.copy / "memory.db").write_bytes(b"no database, and long enough to be one" * 200)
        self.assertIn("memory.db", self.refused(str(self.copy)))
        (self.copy / "memory.db").unlink()
        (self.copy / "trust.db").symlink_to("/etc/passwd")
        self.assertIn("neither a file nor a folder", self.refused(str(self.copy)))


class ReleasedStateTest(unittest.TestCase):
    """What a release has stored (fixtures/, made by support/released_state.py) is there still."""

    def test_every_released_state_is_opened_with_all_that_is_in_it(self) -> None:
        packed = sorted((Path(__file__).parent / "fixtures").glob("state_*.tar.gz"))
        self.assertIn("state_0.1.0.tar.gz", {file.name for file in packed})
        for file in packed:
            with self.subTest(file.name), Gateway(released_state.CONFIG) as gateway:
                self.open_one(gateway, file)

    def open_one(self, gateway: Gateway, file: Path) -> None:
        gateway.stop()
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(file) as archive:
                archive.extractall(folder, filter="data")
            subprocess.run(
                [program(), "restore", folder, "--config", str(gateway.config_file)],
                check=True,
                stdout=subprocess.DEVNULL,
                timeout=60,
            )
        gateway.start()
        self.assertIn(released_state.CALLER, gateway.crab("devices", "list", "-o", "json"))
        token = gateway.pair(released_state.CALLER, ("caller",))  # its notes are its own
        notes = gateway.call("memory.query", {"query": "kettle"}, token=token).result
        self.assertIn(released_state.NOTE, json.dumps(notes))
        jobs = gateway.call("cron.list", {}, token=token).result
        self.assertIn(released_state.JOB, json.dumps(jobs))
        checked = subprocess.run(
            [program(), "audit", "verify", "-o", "json", "--config", str(gateway.config_file)],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        self.assertGreaterEqual(json.loads(checked.stdout)["records"], 2)


class AuditTest(StateTest):
    def verify(self) -> dict[str, object]:
        return json.loads(self.crab("audit", "verify", "-o", "json").stdout)

    def test_the_records_of_a_running_gateway_are_intact_and_can_be_read(self) -> None:
        for n in range(3):
            self.append(f"note {n}", f"call-{n}")
        checked = eventually(
            lambda: (found := self.verify())["records"] >= 3 and found, "the records are written"
        )
        self.assertTrue(checked["intact"])
        records = [
            json.loads(line)
            for line in self.crab("audit", "export", "--since", "1h").stdout.splitlines()
        ]
        self.assertLessEqual(
            {"call-0", "call-1", "call-2"}, {record.get("call_id") for record in records}
        )
        self.assertEqual(self.crab("audit", "export", "--since", "1ms").stdout, "")

    def test_a_record_that_was_changed_is_found(self) -> None:
        self.append("note", "call-1")
        eventually(lambda: self.verify()["records"], "the record is written")
        self.gateway.stop()
        with sqlite3.connect(self.gateway.folder / "state" / "audit.db") as database:
            database.execute("UPDATE audit SET records = replace(records, 'call-1', 'call-2')")
        database.close()
        told = self.crab("audit", "verify")
        self.assertEqual(told.returncode, 1)
        self.assertIn("NOT INTACT: batch 1: its content was changed", told.stdout)

    def test_a_gateway_that_never_ran_has_no_records(self) -> None:
        config = self.gateway.folder / "other.yaml"
        config.write_text(
            json.dumps({"gateway": {"state_dir": str(self.gateway.folder / "nothing")}})
        )
        told = subprocess.run(
            [program(), "audit", "verify", "--config", str(config)],
            capture_output=True,
            text=True,
            timeout=30,
        )
        self.assertNotEqual(told.returncode, 0)
        self.assertIn("no records yet", told.stderr)


class ServiceManagerTest(unittest.TestCase):
    def test_systemd_is_told_of_the_start_a_reload_and_the_stop(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        told = self.enterContext(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        told.bind(os.path.join(folder, "notify"))
        told.settimeout(15)
        with Gateway(environment={"NOTIFY_SOCKET": os.path.join(folder, "notify")}) as gateway:
            self.assertEqual(told.recv(256), b"READY=1")
            gateway.process.send_signal(signal.SIGHUP)
            self.assertRegex(told.recv(256), rb"^RELOADING=1\nMONOTONIC_USEC=\d+$")
            self.assertEqual(told.recv(256), b"READY=1")
            gateway.stop()
            self.assertEqual(told.recv(256), b"STOPPING=1")

    def test_a_loop_that_is_stuck_starves_the_watchdog(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        told = self.enterContext(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        told.bind(os.path.join(folder, "notify"))
        told.settimeout(15)
        manager = {"NOTIFY_SOCKET": os.path.join(folder, "notify"), "WATCHDOG_USEC": "2000000"}
        with Gateway({"gateway": {"threads": 2}}, environment=manager) as gateway:
            heard = {told.recv(256) for _ in range(4)}
            self.assertEqual(heard, {b"READY=1", b"WATCHDOG=1"})
            waiting = threads_that_wait_for_events(gateway.process.pid)
            starving = [thread for thread in waiting if self.starves(told, thread)]
            self.assertEqual(len(starving), 2, waiting)  # others may wait for events too

    def starves(self, told: socket.socket, thread: int) -> bool:
        """Whether the manager hears nothing for as long as it is patient while `thread` stands."""
        with stopped(thread):
            told.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while told.recv(256):
                    pass
            told.settimeout(2.0)
            try:  # One may be on its way still: the loop had answered before it was stopped.
                told.recv(256)
                told.recv(256)
                silent = False
            except TimeoutError:
                silent = True
        told.settimeout(15)
        self.assertEqual(told.recv(256), b"WATCHDOG=1")
        return silent


def threads_that_wait_for_events(process: int) -> list[int]:
    """Those that are seen in epoll_wait or epoll_pwait within a moment."""
    found = set()
    for _ in range(50):
        for task in Path(f"/proc/{process}/task").iterdir():
            try:
                number = (task / "syscall").read_text().split()[0]
            except OSError as error:
                raise unittest.SkipTest("threads of others cannot be looked at here") from error
            if number in {"232", "281", "441"}:
                found.add(int(task.name))
        time.sleep(0.01)
    return sorted(found)


@contextlib.contextmanager
def stopped(thread: int) -> Iterator[None]:
    """The thread stands still within; the others of its process run."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    seize, interrupt, detach, any_thread = 0x4206, 0x4207, 17, 0x40000000
    if libc.ptrace(seize, thread, 0, 0) != 0:
        raise unittest.SkipTest(f"ptrace is refused here: {os.strerror(ctypes.get_errno())}")
    libc.ptrace(interrupt, thread, 0, 0)
    os.waitpid(thread, any_thread)
    try:
        yield
    finally:
        libc.ptrace(detach, thread, 0, 0)


class SocketActivationTest(unittest.TestCase):
    """The service manager has the sockets: callers that come while no gateway runs wait."""

    def free_port(self) -> int:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            return probe.getsockname()[1]

    def with_sockets(self, *addresses: str) -> tuple[str, ...]:
        script = Path(__file__).parent / "support" / "with_sockets.py"
        return (sys.executable, str(script), *addresses, "--")

    def test_every_listener_takes_the_socket_of_its_address(self) -> None:
        public, grpc, peers = self.free_port(), self.free_port(), self.free_port()
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        admin, grpc_socket = folder / "admin.sock", folder / "grpc.sock"
        config = {
            "listen": {
                "public": f"127.0.0.1:{public}",
                "admin": {"socket": str(admin)},
                "peers": f"127.0.0.1:{peers}",
            },
            "grpc": {"listen": f"127.0.0.1:{grpc}", "unix": str(grpc_socket)},
        }
        addresses = [f"127.0.0.1:{port}" for port in (public, grpc, peers)]
        prefix = self.with_sockets(*addresses, f"admin={admin}", str(grpc_socket))
        files = {}
        with Gateway(config, prefix=prefix) as gateway:
            for port in (public, grpc, peers):
                socket.create_connection(("127.0.0.1", port), timeout=15).close()
            self.assertIn("version", gateway.crab("gateway", "status", "-o", "json"))
            for path in (admin, grpc_socket):
                files[path] = path.stat().st_ino
            self.assertNotIn("no listener has the address", gateway.log_tail(100_000))
            gateway.process.send_signal(signal.SIGTERM)
            self.assertEqual(gateway.process.wait(20), 0)
            for path, inode in files.items():  # the manager's, and so they stay
                self.assertEqual(path.stat().st_ino, inode)
                path.unlink()
            gateway.wait_stopped()

    def test_many_callers_are_served_over_one_socket_by_all_loops(self) -> None:
        public = self.free_port()
        config = {"listen": {"public": f"127.0.0.1:{public}"}}
        with Gateway(config, prefix=self.with_sockets(f"public=127.0.0.1:{public}")) as gateway:
            for _ in range(50):
                with socket.create_connection(("127.0.0.1", public), timeout=15) as caller:
                    caller.sendall(b"GET /healthz HTTP/1.1\r\nHost: crab\r\n\r\n")
                    self.assertTrue(caller.recv(64).startswith(b"HTTP/1.1 200"))
            gateway.stop()

    def refused(self, config: dict, *addresses: str) -> str:
        gateway = Gateway(config, prefix=self.with_sockets(*addresses))
        with self.assertRaises(Exception) as raised, gateway:
            pass
        return str(raised.exception)

    def test_a_socket_that_does_not_fit_is_told(self) -> None:
        one, other = self.free_port(), self.free_port()
        config = {"listen": {"public": f"127.0.0.1:{one}"}}
        said = self.refused(config, f"public=127.0.0.1:{other}")
        self.assertIn(f"socket `public` is on 127.0.0.1:{other}", said)


if __name__ == "__main__":
    unittest.main()
