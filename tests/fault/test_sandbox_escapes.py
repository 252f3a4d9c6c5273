"""Ways out of a sandbox that once worked, each tried again from inside at every level that has it.
docs/protocols/sw4rm.md, sections 8 and 10."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import stat
import subprocess
import tempfile
import threading
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from support.certificates import self_signed
from support.gateway import Gateway, merged, program
from support.wait import eventually
from test_commands import CommandCase, can_sandbox, perl, shell

_OPEN = {"defaults": {"privilege": "DEFAULT", "timeout": "30s"}}
_ALL = {
    "defaults": {"privilege": "PRIVILEGED", "timeout": "30s"},
    "ceilings": {"privilege": "PRIVILEGED"},
}
_HOST = {
    "defaults": {"network": "FULL_ACCESS", "privilege": "DEFAULT", "timeout": "30s"},
    "ceilings": {"network": "FULL_ACCESS"},
}

# Perl's syscall() takes no literal texts.
_CALL = "sub call { my @w = @_; return syscall($w[0], @w[1 .. $#w]) } "

# A terminal becomes the controlling one of the gateway's session, as where an operator starts it by
# hand.
_TERMINAL = (
    "python3",
    "-c",
    """
import fcntl, os, sys, termios
master, slave = os.openpty()
os.set_inheritable(master, True)
fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
""",
)
_NO_GROUPS = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh")
_EMPTY_V2 = (
    "unshare",
    "-m",
    "sh",
    "-c",
    'mount -t tmpfs none /sys/fs/cgroup && mkdir /sys/fs/cgroup/unified && mount -t cgroup2 none '
    '/sys/fs/cgroup/unified && exec "$@"',
    "sh",
)


def works(prefix: tuple[str, ...]) -> bool:
    return subprocess.run([*prefix, "true"], capture_output=True).returncode == 0


def delegated() -> Path | None:
    """A group of cgroup v2 in which this process may make others whose memory the kernel counts;
    none where nobody delegated one."""
    tree = next(
        (
            path
            for path in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
            if (path / "cgroup.controllers").exists()
        ),
        None,
    )
    own = next(
        (
            line[3:]
            for line in Path("/proc/self/cgroup").read_text().splitlines()
            if line.startswith("0::")
        ),
        None,
    )
    if tree is None or own is None:
        return None
    group = tree / own.lstrip("/")
    for parent in (group.parent, *group.parent.parents) if group != tree else (tree,):
        if not parent.is_relative_to(tree):
            break
        if (
            os.access(parent / "cgroup.procs", os.W_OK)
            and "memory" in (parent / "cgroup.subtree_control").read_text().split()
        ):
            return parent
    return None


def outside(script: str, folder: Path) -> str:
    """What the script does where there is no sandbox: an attack that works nowhere proves
    nothing."""
    return subprocess.run(
        ["perl", "-e", script], cwd=folder, capture_output=True, text=True, check=True, timeout=20
    ).stdout.strip()


SHELL_PROVIDER = {"id": "p", "kind": "command", "tools": [shell("x")]}


class EscapeCase(CommandCase):
    TOOLS = [
        shell("minimal"),
        perl("minimal_perl"),
        shell("default", **_OPEN),
        perl("default_perl", **_OPEN),
        perl("all_perl", **_ALL),
        shell("all", **_ALL),
        perl("host_perl", **_HOST),
    ]

    def approved(self, tool: str, script: str) -> str:
        """What an operator allows once; the test is skipped where the label is not to be had."""
        asked = self.gateway.call(tool, {"script": script}).error["message"]
        if "cannot be enforced here" in asked:
            self.skipTest(asked)
        found = re.search(r"crab approvals allow (\w+)", asked)
        self.assertTrue(found, asked)
        self.gateway.crab("approvals", "allow", found[1])
        reply = self.gateway.call(tool, {"script": script})
        if reply.status != "ok" and "cannot be enforced here" in reply.error["message"]:
            self.skipTest(reply.error["message"])
        return reply.result["text"]

    def refused_at_every_level(self, script: str) -> None:
        """A Perl script that prints `no` when what it tries fails, `yes` when it works."""
        for tool in ("minimal_perl", "default_perl"):
            self.assertEqual(self.text(tool, script).strip(), "no", (tool, script))
        with self.subTest("PRIVILEGED"):
            self.assertEqual(self.approved("all_perl", script).strip(), "no", script)


class TerminalTest(EscapeCase):
    PREFIX = _TERMINAL

    def test_the_gateway_has_a_terminal_and_its_commands_have_none(self) -> None:
        tty = int(
            Path(f"/proc/{self.gateway.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[4]
        )
        self.assertNotEqual(tty, 0, "the test needs a gateway with a terminal")
        self.refused_at_every_level("print open(F, '+<', '/dev/tty') ? 'yes' : 'no'")
        self.refused_at_every_level(
            "open(F, '<', '/proc/self/stat'); $_ = <F>; s/.*\\) //; my @f = split; print $f[4] == "
            "0 ? 'no' : 'yes'"
        )
        for path in (
            "/dev/console",
            "/dev/tty0",
            "/dev/tty1",
            "/dev/ptmx",
            "/dev/pts/ptmx",
            "/dev/pts/0",
            "/dev/vcs",
        ):
            self.refused_at_every_level(f"print open(F, '+<', '{path}') ? 'yes' : 'no'")

    def test_a_session_of_its_own(self) -> None:
        for tool in ("minimal_perl", "default_perl"):
            self.assertEqual(
                self.text(tool, "print syscall(124, 0) == $$ ? 'own' : 'foreign'"), "own"
            )  # getsid
        self.refused_at_every_level(
            "my $c = 'x'; print ioctl(STDIN, 0x5412, $c) ? 'yes' : 'no'"
        )  # TIOCSTI


class SetIdTest(EscapeCase):
    """Nothing written in a worktree runs as the gateway's user for others."""

    def test_no_way_makes_a_set_id_file(self) -> None:
        attempts = {
            "chmod": "chmod({mode}, 'f')",
            "fchmod": "open(F, '<', 'f') && call(91, fileno(F), {mode}) == 0",
            "fchmodat": "call(268, -100, 'f', {mode}) == 0",
            "fchmodat2": "call(452, -100, 'f', {mode}, 0) == 0",
            "open": "call(2, 'new', 0x41, {mode}) >= 0",
            "creat": "call(85, 'new', {mode}) >= 0",
            "openat": "call(257, -100, 'new', 0x41, {mode}) >= 0",
            "O_TMPFILE": "call(257, -100, '.', 0x410002, {mode}) >= 0",
            "O_TMPFILE by open": "call(2, '.', 0x410002, {mode}) >= 0",
            "mknod": "call(133, 'new', 0100000 | {mode}, 0) == 0",
            "mknodat": "call(259, -100, 'new', 0100000 | {mode}, 0) == 0",
            "mkdir": "call(83, 'newdir', {mode}) == 0",
            "mkdirat": "call(258, -100, 'newdir', {mode}) == 0",
            "openat2": "my $how = pack('QQQ', 0x41, {mode}, 0); call(437, -100, 'new', $how, 24) "
            ">= 0",
            "io_uring": "my $p = \"\\0\" x 120; call(425, 1, $p) >= 0",
        }
        (self.tree / "f").write_text("#!/bin/sh\n")
        free = self.folder / "free"
        for mode in ("04755", "02755", "06777", "04000"):
            for name, attempt in attempts.items():
                script = (
                    _CALL
                    + f"umask 0; print do {{ {attempt.replace('{mode}', mode)} }} ? 'yes' : 'no'"
                )
                free.mkdir()
                (free / "f").write_text("")
                self.assertEqual(outside(script, free), "yes", (name, mode))
                if (free / "newdir").exists():
                    (free / "newdir").chmod(0o700)
                shutil.rmtree(free)
                self.assertEqual(self.text("default_perl", script).strip(), "no", (name, mode))
        for attempt in (
            "setxattr|188, 'f', $n, $v, 1, 0",
            "lsetxattr|189, 'f', $n, $v, 1, 0",
            "fsetxattr|190, fileno(F), $n, $v, 1, 0",
            "setxattrat|463, -100, 'f', 0, $n, $v, 16",
        ):
            for key in ("security.capability", "system.posix_acl_access", "user.x"):
                call = attempt.split("|")[1]
                self.assertEqual(
                    self.text(
                        "default_perl",
                        _CALL + f"open(F, '<', 'f'); my ($n, $v) = ('{key}', 'x' x 32); print "
                        f"call({call}) == -1 ? 'no' : 'yes'",
                    ),
                    "no",
                    (attempt, key),
                )
        with self.subTest("PRIVILEGED"):
            self.assertEqual(
                self.approved("all_perl", f"print chmod(04755, '{self.tree}/f') ? 'yes' : 'no'"),
                "no",
            )
        for file in self.tree.rglob("*"):
            self.assertEqual(file.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID), 0, file)

    def test_ordinary_modes_work(self) -> None:
        self.assertEqual(
            self.text(
                "default",
                "umask 0; echo x > plain && chmod 1755 plain && mkdir -m 1777 box && mkdir -m 700 "
                "own && cp -p plain copy && stat -c %a plain box own copy",
            ).split(),
            ["1755", "1777", "700", "1755"],
        )
        self.assertEqual(
            self.text(
                "default",
                "mkdir d && tar -cf a.tar plain && tar -xpf a.tar -C d && stat -c %a d/plain; git "
                "init -q repo && echo made",
            ).split()[-1],
            "made",
        )


class SocketTest(EscapeCase):
    """What listens on a Unix socket in the worktree belongs to the host."""

    @contextmanager
    def listening(self, name: str, kind: int) -> Iterator[socket.socket]:
        with socket.socket(socket.AF_UNIX, kind) as server:
            server.bind(str(self.tree / name))
            server.settimeout(0.2)
            if kind == socket.SOCK_STREAM:
                server.listen(4)
            try:
                yield server
            finally:
                (self.tree / name).unlink()

    def test_deny_all_reaches_no_unix_socket(self) -> None:
        def plain(kind: int, place: str) -> str:
            return (
                f"my $a = pack('Sa*', 1, '{place}'); my $s = syscall(41, 1, {kind}, 0); print "
                f"$s >= 0 && syscall(42, $s, $a, length $a) == 0 ? 'yes' : 'no'"
            )

        def paired(kind: int, place: str, then: str) -> str:
            return (
                f"my ($p, $x, $a) = (\"\\0\" x 8, 'x', pack('Sa*', 1, '{place}')); my $r = "
                f"syscall(53, 1, {kind}, 0, $p); my ($s) = unpack('i', $p);"
                f"print $r == 0 && {then} ? 'yes' : 'no'"
            )

        send, connect = (
            "syscall(44, $s, $x, 1, 0, $a, length $a) == 1",
            "syscall(42, $s, $a, length $a) == 0",
        )
        with self.listening("stream", socket.SOCK_STREAM) as stream, self.listening(
            "datagrams", socket.SOCK_DGRAM
        ) as datagrams:
            # A pair of datagram sockets can send anywhere, and connect again; raw ones are datagram
            # sockets.
            ways = [
                plain(1, "stream"),
                plain(2, "datagrams"),
                plain(3, "datagrams"),
                *(paired(kind, "datagrams", then) for kind in (2, 3) for then in (send, connect)),
            ]
            for way in ways:
                self.assertEqual(outside(way, self.tree), "yes", way)
            stream.accept()[0].close()
            for _ in range(2):
                datagrams.recv(1)
            # Pairs of the other kinds stay with each other; one of packets takes an address and
            # pays no heed to it.
            hopeless = [
                paired(1, "stream", send),
                *(paired(kind, "stream", connect) for kind in (1, 5)),
                plain(5, "stream"),
            ]
            for way in [
                *ways,
                *hopeless,
                plain(1, "/wt/stream"),
                plain(1, f"{self.tree}/stream"),
                plain(2, f"{self.tree}/datagrams"),
            ]:
                self.refused_at_every_level(
                    way if "/" in way else way.replace("my ", f"chdir '{self.tree}'; my ", 1)
                )
            with self.assertRaises(TimeoutError):
                stream.accept()
            with self.assertRaises(TimeoutError):
                datagrams.recv(1)

    def test_connected_pairs_work_and_the_hosts_network_has_unix_sockets(self) -> None:
        with self.listening("stream", socket.SOCK_STREAM) as server:
            self.assertEqual(
                self.approved(
                    "host_perl",
                    "my $a = pack('Sa*', 1, 'stream'); my $s = syscall(41, 1, 1, 0); print "
                    "syscall(42, $s, $a, length $a) == 0 ? 'yes' : 'no'",
                ),
                "yes",
            )
            server.accept()[0].close()
        self.assertEqual(
            self.text(
                "default_perl",
                "use Socket; socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or die $!; syswrite(A, "
                "'pair'); sysread(B, $_, 9); print",
            ),
            "pair",
        )


class OwnFilesTest(EscapeCase):
    """PRIVILEGED sees the files of the gateway's user, but not those of crab, wherever they are."""

    def secret_files(self) -> list[Path]:
        state = self.gateway.folder / "state"
        return [
            self.folder / "filed",
            self.gateway.config_file,
            *sorted(file for file in state.rglob("*") if file.is_file())[:4],
        ]

    def test_privileged_sees_nothing_of_crab_and_moves_nothing(self) -> None:
        for file in self.secret_files():
            self.assertEqual(
                self.approved("all", f"test -s {file} && echo yes || echo no; exit 0").strip(),
                "no",
                file,
            )
        self.assertEqual(
            self.approved(
                "all",
                f"ls -A {self.gateway.folder}/state {self.gateway.folder}/run | grep -v : | tr -d "
                f"'\\n'; test -S {self.gateway.admin} && echo yes; exit 0",
            ),
            "",
        )
        moves = (
            f"mv {self.gateway.folder} {self.gateway.folder}.moved; mv "
            f"{self.gateway.folder}/state {self.gateway.folder}/other; mv "
            f"{self.folder}/filed {self.folder}/read"
        )
        self.approved(
            "all",
            f"({moves}; ln {self.folder}/filed {self.folder}/read; rm -rf "
            f"{self.gateway.folder}/state) 2>/dev/null; exit 0",
        )
        self.assertTrue((self.gateway.folder / "state").is_dir())
        self.assertEqual((self.folder / "filed").read_text(), "s3cret-file\n")
        self.assertFalse((self.folder / "read").exists())
        self.assertEqual(self.approved("all", f"cat {self.folder}/secret"), "nobody reads this\n")

    def test_what_a_reload_makes_crabs_own_is_hidden_and_lies_in_no_worktree(self) -> None:
        late, within = self.folder / "late", self.tree / "late"
        for file in (late, within):
            file.write_text("a new key\n")
        self.addCleanup(within.unlink)
        self.assertEqual(self.approved("all", f"cat {late}"), "a new key\n")
        before = self.gateway.config

        def reload(file: Path, told: str) -> None:
            self.gateway.reload({"models": [{"model": "m", "key_file": str(file)}]})
            eventually(lambda: told in self.gateway.log_tail(), told, 10)

        self.addCleanup(self.gateway.write_config, before)
        reload(within, f"{within}, which is crab's own")
        self.gateway.write_config(before)
        reload(late, "configuration reloaded")
        self.assertEqual(self.approved("all", f"cat {late} 2>/dev/null; exit 0"), "")

    def test_what_a_person_moves_is_still_hidden(self) -> None:
        parent = self.gateway.folder
        (parent / "state").rename(parent / "elsewhere")
        try:
            files = [file for file in (parent / "elsewhere").rglob("*") if file.is_file()]
            self.assertEqual(
                self.approved(
                    "all", f"cat {' '.join(map(str, files[:4]))} 2>/dev/null | wc -c"
                ).strip(),
                "0",
            )
        finally:
            (parent / "elsewhere").rename(parent / "state")

    def test_crabs_own_files_in_a_worktree_are_shown_to_nobody(self) -> None:
        """As if somebody had moved them there while the gateway runs."""
        (self.folder / "filed").rename(self.tree / "filed")
        try:
            for tool in ("minimal", "default"):
                self.assertIn(
                    "files of crab itself", self.fails(tool, "read x < filed; echo $x")["message"]
                )
        finally:
            (self.tree / "filed").rename(self.folder / "filed")
        self.assertEqual(self.text("minimal", "echo well"), "well\n")


class RaceTest(EscapeCase):
    """A process of the host that exchanges the worktree for a link, over and over, while calls
    begin."""

    def test_a_worktree_that_is_swapped_shows_no_other_folder(self) -> None:
        victim, away, stop = self.folder / "victim", self.folder / "away", threading.Event()
        victim.mkdir()
        (victim / "notes.md").write_text("SECRET\n")

        def swap() -> None:
            while not stop.is_set():
                self.tree.rename(away)
                self.tree.symlink_to("../" + self.folder.name + "/victim")
                self.tree.unlink()
                away.rename(self.tree)

        swapping = threading.Thread(target=swap)
        swapping.start()
        try:
            replies = [
                self.gateway.call(*call)
                for _ in range(25)
                for call in (
                    ("minimal", {"script": "read x < notes.md; echo $x"}),
                    ("read_file", {"path": "notes.md"}),
                    (
                        "default",
                        {"script": "echo changed > mine; cat notes.md ../victim/notes.md; exit 0"},
                    ),
                )
            ]
        finally:
            stop.set()
            swapping.join()
        for reply in replies:
            self.assertNotIn("SECRET", str(reply.body))
            self.assertIn(
                reply.status if reply.status == "ok" else reply.code,
                ("ok", "UNAVAILABLE", "DEPENDENCY_UNAVAILABLE"),
            )
        self.assertEqual(
            [file.name for file in victim.iterdir()], ["notes.md"], "nothing was written there"
        )

    def test_a_folder_that_is_taken_out_of_the_worktree_leads_nobody_out(self) -> None:
        inner, taken, stop = self.tree / "inner", self.folder / "taken", threading.Event()
        inner.mkdir()

        def swap() -> None:
            while not stop.is_set():
                inner.rename(taken)
                taken.rename(inner)

        swapping = threading.Thread(target=swap)
        swapping.start()
        try:
            said = self.text(
                "default",
                "for i in $(seq 300); do cd /wt/inner 2>/dev/null && cat ../secret ../../secret "
                "../../../secret ../tree/../secret; done 2>/dev/null; echo end",
            )
        finally:
            stop.set()
            swapping.join()
        self.assertEqual(said, "end\n")

    def test_the_name_of_a_worktree_may_change_its_folder_stays(self) -> None:
        away = self.folder / "renamed"
        self.tree.rename(away)
        self.tree.mkdir()
        (self.tree / "notes.md").write_text("SECRET\n")
        try:
            self.assertEqual(self.text("minimal", "read x < notes.md; echo $x"), "one two three\n")
            self.assertEqual(
                self.gateway.call("read_file", {"path": "notes.md"}).result["text"],
                "one two three\n",
            )
        finally:
            shutil.rmtree(self.tree)
            away.rename(self.tree)


class MemoryCase(EscapeCase):
    TOOLS = [
        shell("small", defaults={"privilege": "DEFAULT", "memory": "128MiB", "timeout": "30s"}),
        perl("small_perl", defaults={"privilege": "DEFAULT", "memory": "128MiB", "timeout": "30s"}),
        perl("minimal_perl", defaults={"memory": "128MiB"}),
        shell("way_out", defaults={"network": "EGRESS_RESTRICTED"}),
        shell("all", **_ALL),
    ]
    BLOCK = "my $b = 'x' x (1 << 20);"
    ATTACKS = {
        "memfd": BLOCK
        + "for my $k (1 .. 8) { my $n = 'x'; my $f = syscall(319, $n, 0); $f < 0 and die; open(my "
        "$h, '>&=', $f) or die; push @k, $h; for (1 .. 64) { syswrite($h, $b) or die } } print "
        "'HAD'",
        "tmp": BLOCK
        + "open(F, '>', '/tmp/fill') or die; for (1 .. 512) { syswrite(F, $b) == length $b or die "
        "} print 'HAD'",
        "dev": BLOCK
        + "open(F, '>', '/dev/fill') or die; for (1 .. 512) { syswrite(F, $b) == length $b or die "
        "} print 'HAD'",
        "shm": BLOCK
        + "open(F, '>', '/dev/shm/fill') or die; for (1 .. 512) { syswrite(F, $b) == length $b or "
        "die } print 'HAD'",
        "sysv": BLOCK
        + "for (1 .. 51) { my $i = shmget(0, 10 << 20, 01600) // die; for (0 .. 9) { shmwrite($i, "
        "$b, $_ << 20, 1 << 20) or die } } print 'HAD'",
    }

    LIMIT = 128 << 20
    SHARED = 8 << 20  # pages of a perl that its parent has too, and that are counted in both
    # eight processes, which take 100 MiB each at the same moment; not what perl makes beforehand
    MANY = (
        "pipe(R, W); for (1 .. 8) { my $p = fork; last unless defined $p; if (!$p) { close W; "
        "sysread(R, my $b, 1); my $m = int(shift || 100) << 20; my $x = 'x' x $m; sleep 3; exit } "
        "} sleep 1; close W; sleep 4; exit 3"
    )

    def attack(self, *tools: str) -> None:
        for name, script in self.ATTACKS.items():
            for tool in tools:
                self.assertNotIn(
                    "HAD",
                    str(self.gateway.call(tool, {"script": script}, timeout=60).body),
                    (name, tool),
                )
        for tool in tools:
            error = self.gateway.call(tool, {"script": self.MANY}, timeout=60).error
            peak = error["details"]["peak_memory_bytes"]
            self.assertLessEqual(peak, self.LIMIT + 8 * self.SHARED, (tool, error))

    def use(self) -> None:
        self.assertEqual(
            self.text("small", "head -c 20000000 /dev/zero > /tmp/x && wc -c < /tmp/x"),
            "20000000\n",
        )
        self.assertEqual(self.text("small", "echo shm > /dev/shm/x && cat /dev/shm/x"), "shm\n")


class MemoryTest(MemoryCase):
    def test_privileged_commands_do_not_leave_their_control_group(self) -> None:
        script = (
            "for f in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs "
            "/sys/fs/cgroup/memory/memory.soft_limit_in_bytes; do test -w $f && echo $f; "
            "done; exit 0"
        )
        self.assertEqual(self.approved("all", script), "")

    def test_no_kind_of_memory_passes_the_limit(self) -> None:
        self.attack("small_perl", "minimal_perl")
        self.use()


class UnlimitedCase(MemoryCase):
    """Without a control group that counts, what cannot be measured is refused, and so are labels
    that need it."""

    def unlimited(self) -> None:
        self.attack("minimal_perl")
        for tool in ("way_out", "all", "small", "small_perl"):
            reply = self.gateway.call(tool, {"script": "echo ran"})
            self.assertNotEqual(reply.status, "ok")
            if tool != "all":
                self.assertIn("Delegate=yes", reply.error["message"])
        said = [
            subprocess.run(
                [*self.PREFIX, program(), *words, "--config", str(self.gateway.config_file)],
                capture_output=True,
                text=True,
                timeout=60,
                env=self.gateway.environment,
            )
            for words in (("gateway", "check"), ("doctor",))
        ]
        for done in said:
            for tool, label in (("way_out", "EGRESS_RESTRICTED"), ("small", "DEFAULT")):
                self.assertIn(
                    f"{tool} is not offered: {label} cannot be enforced here",
                    done.stdout + done.stderr,
                )
            self.assertIn("Delegate=yes", done.stdout + done.stderr)
        self.assertEqual(said[0].returncode, 0, said[0].stderr)


@unittest.skipUnless(works(_NO_GROUPS), "no mount namespace can be made here")
class NoGroupsTest(UnlimitedCase):
    PREFIX = _NO_GROUPS

    def test_without_control_groups(self) -> None:
        self.unlimited()


@unittest.skipUnless(works(_EMPTY_V2), "cgroup2 cannot be mounted here")
class EmptyUnifiedTest(UnlimitedCase):
    PREFIX = _EMPTY_V2

    def test_with_a_unified_tree_that_hands_no_controller_down(self) -> None:
        self.unlimited()


@unittest.skipUnless(
    delegated(), "no group of cgroup v2 with a memory controller is delegated here"
)
class DelegatedTest(MemoryCase):
    """A gateway alone in a group of cgroup v2, as systemd starts it with Delegate=yes."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.group = delegated() / f"crab-test-{os.getpid()}"
        cls.group.mkdir()
        cls.addClassCleanup(cls.group.rmdir)
        cls.addClassCleanup(
            lambda: [child.rmdir() for child in cls.group.iterdir() if child.is_dir()]
        )
        # A group that hands controllers down takes no process: after a kill the subgroup is there
        # that the gateway made for itself.
        cls.PREFIX = (
            "sh",
            "-c",
            f'g={cls.group}; test -d $g/crab-gateway && g=$g/crab-gateway; echo $$ > '
            f'$g/cgroup.procs && exec "$@"',
            "sh",
        )
        super().setUpClass()

    def commands(self) -> list[str]:
        return [
            child.name
            for child in self.group.iterdir()
            if child.is_dir() and child.name != "crab-gateway"
        ]

    def running(self) -> list[str]:
        """The programs in the groups of commands."""
        processes = [
            number
            for name in self.commands()
            for number in (self.group / name / "cgroup.procs").read_text().split()
        ]
        return [Path("/proc", number, "comm").read_text().strip() for number in processes]

    def test_no_kind_of_memory_passes_the_limit_and_no_label_is_missing(self) -> None:
        self.assertIn("memory", (self.group / "cgroup.subtree_control").read_text())
        self.attack()
        self.assertEqual(self.approved("all", "echo ran"), "ran\n")
        self.assertNotIn(
            "no control group", str(self.gateway.call("way_out", {"script": "echo ran"}).body)
        )

    def test_memory_beyond_the_limit_ends_a_command_and_says_so(self) -> None:
        reply = self.gateway.call(
            "small",
            {
                "script": "perl -e '$x = \"x\" x (100 << 20); sleep 1' & perl -e '$x = \"x\" x "
                "(100 << 20); sleep 1'; wait"
            },
            timeout=60,
        )
        self.assertNotEqual(reply.status, "ok")
        self.assertIn("memory", reply.error["message"])

    def test_a_command_has_a_group_of_its_own_which_goes_with_it(self) -> None:
        call = self.gateway.start_call("small", {"script": "echo $$; sleep 2; exit 0"})
        eventually(lambda: len(self.commands()) == 1, "its group is there")
        limits = self.group / self.commands()[0]
        self.assertEqual(
            ((limits / "memory.max").read_text(), (limits / "memory.swap.max").read_text()),
            (f"{128 << 20}\n", "0\n"),
        )
        self.assertEqual(call.result(20).status, "ok")
        eventually(lambda: self.commands() == [], "its group is gone")

    def test_what_a_killed_gateway_left_is_gone_after_the_next_start(self) -> None:
        call = self.gateway.start_call("small", {"script": "sleep 30"})
        eventually(lambda: "sleep" in self.running(), "it runs in its group")
        self.gateway.kill()
        call.exception(20)
        eventually(
            lambda: all(
                (self.group / name / "cgroup.procs").read_text() == "" for name in self.commands()
            ),
            "the command has died with its gateway",
        )
        self.gateway.start()
        self.assertEqual(self.commands(), [])
        self.assertEqual(self.text("small", "echo again"), "again\n")


@unittest.skipUnless(can_sandbox(), "commands cannot be confined here under DEFAULT")
def own_pairing(**members: str) -> dict[str, Any]:
    return {"pairing": {**dict.fromkeys(("ca", "cert", "key"), "/etc/hostname"), **members}}


def remote_service(service: str, key: str, at: str) -> dict[str, Any]:
    """A configuration with that gRPC service, in which the key names `at`."""
    asked: dict[str, Any] = {"address": "[::1]:1"}
    if key == "address":
        asked["address"] = f"unix:{at}"
    elif key.startswith("tls."):
        shown = {} if key == "tls.ca" else {"cert": "/etc/hostname", "key": "/etc/hostname"}
        asked["tls"] = {**shown, key[4:]: at}
    else:
        asked["token_file"] = at
    if service == "providers[]":
        return {"providers": [{"id": "far", "kind": "grpc", **asked}, SHELL_PROVIDER]}
    return {service: asked}


def fleet(**members: Any) -> dict[str, Any]:
    return {
        "fleet": {
            "name": "f",
            "node_name": "n",
            "key_file": "/etc/hostname",
            "nats": {"urls": ["nats://127.0.0.1:4222"]},
            "postgres": {"dsn_file": "/etc/hostname"},
            **members,
        }
    }


def mcp_server(**members: Any) -> dict[str, Any]:
    return {"mcp": {"servers": {"m": {"url": "https://[::1]/mcp", **members}}}}


def files_in_the_schema() -> set[str]:
    """The keys of the configuration that name a file, folder or socket."""
    schema = json.loads((Path(__file__).parents[2] / "spec" / "config.schema.json").read_text())
    names = re.compile(r"(^|_)(file|path|dir|cwd|unix|socket|cert|key|ca|address)$")
    no_files = {"listen.console", "models[].key_env"}
    found = set()

    def walk(node: Any, at: str) -> None:
        for name, member in node.get("properties", {}).items():
            key = f"{at}.{name}".lstrip(".")
            if names.search(name) and member.get("type") == "string" and key not in no_files:
                found.add(key)
            walk(member, key)
        for inner, suffix in ((node.get("additionalProperties"), ".*"), (node.get("items"), "[]")):
            if isinstance(inner, dict):
                walk(inner, at + suffix)
        for each in (*node.get("oneOf", ()), *node.get("anyOf", ()), *node.get("allOf", ())):
            walk(each, at)

    walk(schema, "")
    return found


class RefusedConfigurationTest(unittest.TestCase):
    """What a command could turn into a way out is refused by the check and by the start."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="crab-refused-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        for name in ("state", "run", "work/inner", "keys", "hooks"):
            (self.folder / name).mkdir(parents=True, mode=0o700)
        (self.folder / "keys" / "token").write_text("s3cret")

    def config(
        self, paths: list[Path], tool: dict[str, Any] | None = None, **members: Any
    ) -> dict[str, Any]:
        return {
            "gateway": {
                "state_dir": str(self.folder / "state"),
                "runtime_dir": str(self.folder / "run"),
            },
            "listen": {"public": "127.0.0.1:0"},
            "worktrees": [{"id": f"a/w{n}", "path": str(path)} for n, path in enumerate(paths)],
            "providers": [{**SHELL_PROVIDER, "tools": [{**shell("x"), **(tool or {})}]}],
            **members,
        }

    def run_crab(
        self, command: str, config: dict[str, Any], file: Path
    ) -> subprocess.CompletedProcess[str]:
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(config))
        return subprocess.run(
            [program(), "gateway", command, "--config", str(file)],
            capture_output=True,
            text=True,
            timeout=30,
            stdin=subprocess.DEVNULL,
        )

    def refused(self, *words: str, config: dict[str, Any], file: Path | None = None) -> None:
        for command in ("check", "run"):
            done = self.run_crab(command, config, file or self.folder / "etc" / "gateway.yaml")
            self.assertNotEqual(done.returncode, 0, (command, done.stdout))
            for word in words:
                self.assertIn(word, done.stdout + done.stderr, command)

    def test_worktrees_that_overlap(self) -> None:
        work = self.folder / "work"
        (self.folder / "link").symlink_to("work/inner")
        for other in (work / "inner", work, self.folder / "link", work / "inner" / ".." / "inner"):
            self.refused("overlaps", config=self.config([work, other]))
            self.refused("overlaps", config=self.config([other, work]))

    @unittest.skipUnless(os.geteuid() == 0, "mounting needs root")
    def test_worktrees_that_overlap_by_a_mount(self) -> None:
        seen = self.folder / "seen"
        seen.mkdir()
        file = self.folder / "gateway.yaml"
        for source, paths in (
            ("work/inner", ["work", "seen"]),
            ("state", ["seen"]),
            (".", ["seen/work", "work"]),
        ):
            file.write_text(json.dumps(self.config([self.folder / path for path in paths])))
            script = f"mount --bind {self.folder / source} {seen} && exec \"$@\""
            done = subprocess.run(
                [
                    "unshare",
                    "-m",
                    "sh",
                    "-c",
                    script,
                    "sh",
                    program(),
                    "gateway",
                    "check",
                    "--config",
                    str(file),
                ],
                capture_output=True,
                text=True,
                timeout=30,
            )
            self.assertNotEqual(done.returncode, 0, (source, done.stdout))
            self.assertRegex(done.stdout + done.stderr, "overlaps|crab's own")

    def test_worktrees_that_meet_crabs_own_files(self) -> None:
        secrets = [{"name": "t", "file": str(self.folder / "keys" / "token")}]
        for path in (self.folder, self.folder / "state", self.folder / "run"):
            self.refused("crab's own", config=self.config([path]))
        (self.folder / "state" / "deep").mkdir()
        self.refused("crab's own", config=self.config([self.folder / "state" / "deep"]))
        self.refused("crab's own", config=self.config([self.folder / "keys"], secrets=secrets))
        self.refused(
            "crab's own",
            config=self.config([self.folder / "work"]),
            file=self.folder / "work" / "gateway.yaml",
        )
        os.link(self.folder / "keys" / "token", self.folder / "work" / "inner" / "second")
        self.refused("hard link", config=self.config([self.folder / "work"], secrets=secrets))
        (self.folder / "work" / "inner" / "second").unlink()
        (self.folder / "work" / "named").symlink_to(self.folder / "keys" / "token")
        self.refused(
            "crab's own",
            config=self.config(
                [self.folder / "work"],
                secrets=[{"name": "t", "file": str(self.folder / "work" / "named")}],
            ),
        )

    # What the configuration names, as a configuration that names the file; None: see the comment.
    NAMED: ClassVar[dict[str, Any]] = {
        "listen.tls.cert": lambda at: {"listen": {"tls": {"cert": at, "key": "/etc/hostname"}}},
        "listen.tls.key": lambda at: {"listen": {"tls": {"cert": "/etc/hostname", "key": at}}},
        "listen.admin.socket": lambda at: {"listen": {"admin": {"socket": at}}},
        "grpc.unix": lambda at: {"grpc": {"unix": at}},
        "grpc.tls.cert": lambda at: {"grpc": {"tls": {"cert": at, "key": "/etc/hostname"}}},
        "grpc.tls.key": lambda at: {"grpc": {"tls": {"cert": "/etc/hostname", "key": at}}},
        "pairing.ca": lambda at: own_pairing(ca=at),
        "pairing.cert": lambda at: own_pairing(cert=at),
        "pairing.key": lambda at: own_pairing(key=at),
        "hosts[].unix": lambda at: {"hosts": [{"name": "h", "unix": at}]},
        **{
            f"{service}.{key}": lambda at, service=service, key=key: remote_service(
                service, key, at
            )
            for service in ("worktree_service", "hitl", "providers[]")
            for key in ("address", "tls.ca", "tls.cert", "tls.key", "token_file")
        },
        "secrets[].file": lambda at: {"secrets": [{"name": "t", "file": at}]},
        "fleet.key_file": lambda at: fleet(key_file=at),
        "fleet.nats.user_file": lambda at: fleet(
            nats={"urls": ["nats://127.0.0.1:4222"], "user_file": at}
        ),
        "fleet.postgres.dsn_file": lambda at: fleet(postgres={"dsn_file": at}),
        "models[].key_file": lambda at: {"models": [{"model": "m", "key_file": at}]},
        "models[].ca": lambda at: {"models": [{"model": "m", "ca": at}]},
        "tracing.headers_file": lambda at: {
            "tracing": {"otlp": "https://[::1]", "headers_file": at}
        },
        "tracing.ca": lambda at: {"tracing": {"otlp": "https://[::1]", "ca": at}},
        **{
            f"mcp.servers.*.tls.{key}": lambda at, key=key: mcp_server(
                tls={"cert": "/etc/hostname", "key": "/etc/hostname", key: at}
            )
            for key in ("ca", "cert", "key")
        },
        "mcp.servers.*.auth.client_credentials.key_file": lambda at: mcp_server(
            auth={
                "client_credentials": {"issuer": "https://[::1]", "client_id": "c", "key_file": at}
            }
        ),
        "gateway.state_dir": None,  # test_worktrees_that_meet_crabs_own_files
        "gateway.runtime_dir": None,
        "worktrees[].path": None,  # test_worktrees_that_overlap
        "mcp.servers.*.cwd": None,  # server_files_test
    }

    def test_no_file_that_the_configuration_names_lies_where_commands_write(self) -> None:
        self.assertEqual(sorted(self.NAMED), sorted(files_in_the_schema()))
        certificate, _ = self_signed(self.folder / "keys")
        shutil.copy(certificate, self.folder / "work" / "it")
        for key, named in self.NAMED.items():
            if named is None:
                continue
            with self.subTest(key):
                config = merged(
                    self.config([self.folder / "work"]),
                    named(str(self.folder / "work" / "it")),
                )
                done = self.run_crab("check", config, self.folder / "etc" / "gateway.yaml")
                self.assertRegex(done.stdout + done.stderr, "crab's own|runs or trusts|overlap")
                self.assertNotEqual(done.returncode, 0, done.stdout)

    def test_what_the_configuration_takes_from_files_lies_where_no_command_is(self) -> None:
        quoted = self.folder / "work" / "quoted"
        quoted.write_text("s3cret")
        self.refused(
            "crab's own",
            str(quoted),
            config=self.config(
                [self.folder / "work"],
                mcp={
                    "servers": {
                        "m": {
                            "url": "https://[::1]/mcp",
                            "auth": {"headers": {"X": f"${{file:{quoted}}}"}},
                        }
                    }
                },
            ),
        )

    def test_programs_that_the_gateway_runs(self) -> None:
        hook = self.folder / "work" / "hook"
        hook.write_text("#!/bin/sh\n")
        hook.chmod(0o755)
        self.refused(
            "replace it",
            config=self.config(
                [self.folder / "work"], hooks=[{"name": "h", "type": "command", "run": [str(hook)]}]
            ),
        )

    def test_paths_of_elevated_tools(self) -> None:
        for paths, word in (
            ([self.folder / "state"], "crab's own"),
            ([self.folder], "crab's own"),
            ([self.folder / "work" / "inner"], "worktree"),
            ([Path(program()).parent], "crab runs"),
            ([self.folder / "keys", self.folder / "keys" / "token"], "overlaps"),
        ):
            self.refused(
                word,
                config=self.config(
                    [self.folder / "work"], {"elevated_paths": [str(path) for path in paths]}
                ),
            )

    def test_what_lies_beside_each_other_is_fine(self) -> None:
        config = self.config(
            [self.folder / "work", self.folder / "hooks"],
            {"elevated_paths": [str(self.folder / "keys")]},
        )
        done = self.run_crab("check", config, self.folder / "gateway.yaml")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with Gateway(config) as gateway:
            self.assertEqual(gateway.call("x", {"script": "echo ran"}).result["text"], "ran\n")
