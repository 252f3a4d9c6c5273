"""A clean Debian with a running systemd, apart from this one: a root file system that mmdebstrap
has made, in namespaces of its own, without a network. Needs root."""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

PATIENCE = 180.0
# What becomes process 1 of the system does this first, with the root and the shared folders as its
# arguments. It is not bubblewrap, whose /proc is partly read-only: no sandbox within could have one
# of its own then. And no chroot, from which there are no user namespaces.
BEGIN = """
set -e
root=$1; shift
mount --bind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup 2> /dev/null || {
    mount -t tmpfs tmpfs sys/fs; mkdir sys/fs/cgroup; mount -t cgroup2 cgroup2 sys/fs/cgroup; }
mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/pts dev/shm dev/net
for name in null zero full random urandom tty net/tun; do
    [ -e /dev/$name ] || continue
    touch dev/$name; mount --bind /dev/$name dev/$name
done
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
ln -s pts/ptmx dev/ptmx; ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
while [ $# -gt 1 ]; do
    mkdir -p ".$2"; mount --bind "$1" ".$2"; mount -o remount,bind,ro ".$2"; shift 2
done
pivot_root . mnt
cd /
umount -l mnt
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd
"""


class Failed(Exception):
    """What happened instead of what should have."""


def expect(holds: object, what: str) -> None:
    if not holds:
        raise Failed(f"not so: {what}")


def make_root(folder: Path, packages: list[str], archive: Path | None) -> None:
    """A minimal bookworm with these packages in an empty folder; from the archive, if there is one
    already, and else the archive is made too."""
    if archive and archive.exists():
        subprocess.run(["tar", "-xf", str(archive), "-C", str(folder)], check=True)
        return
    subprocess.run(
        [
            "mmdebstrap",
            "--quiet",
            "--variant=minbase",
            "--skip=check/empty",
            f"--include={','.join(packages)}",
            "bookworm",
            str(folder),
        ],
        check=True,
    )
    if archive:
        subprocess.run(["tar", "-cf", str(archive), "-C", str(folder), "."], check=True)


def control_groups() -> Path:
    """Where the second version of control groups is, which systemd wants for itself below some
    folder."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup2 "):
            return Path(before.split()[4])
    raise Failed("this machine has no control groups of version 2")


class CleanRoot:
    """The system in a root file system, from when systemd is its process 1 until it is stopped."""

    def __init__(self, root: Path, shared: dict[str, Path]):
        """`shared`: folders of this machine which it sees read-only, by their paths there."""
        self.root = root
        self.shared = shared
        self.group = control_groups() / f"crab-packages-{os.getpid()}"
        self.process: subprocess.Popen | None = None
        self.init = 0

    def start(self) -> None:
        self.path("/etc/hostname").write_text("clean\n")
        self.group.mkdir()
        shared = [word for to, path in self.shared.items() for word in (str(path), to)]
        namespaces = ("--mount", "--pid", "--ipc", "--uts", "--net", "--cgroup", "--fork")
        # Its own group of processes is where the control groups begin for it.
        enter = f'echo $$ > {self.group}/cgroup.procs && exec unshare "$@"'
        self.process = subprocess.Popen(
            [
                *("sh", "-c", enter, "sh", "--propagation", "private", *namespaces),
                *("--kill-child", "sh", "-c", BEGIN, "sh", str(self.root), *shared),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self.eventually(self.has_begun, "process 1 has started")
        self.eventually(self.is_up, "systemd has started")

    def has_begun(self) -> bool:
        if self.process.poll() is not None:
            raise Failed(f"no namespaces: {self.process.stderr.read().decode()}")
        below = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        self.init = int(below.split()[0]) if below else 0
        return bool(below) and Path(f"/proc/{self.init}/comm").read_text() == "systemd\n"

    def is_up(self) -> bool:
        state = self.run("systemctl", "is-system-running", check=False).stdout.strip()
        return state in ("running", "degraded")

    def run(
        self, *words: str, check: bool = True, user: str = "", **more
    ) -> subprocess.CompletedProcess:
        """A command in it, as root or another user, without a terminal."""
        inside = ["nsenter", "-t", str(self.init), "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w"]
        if user:
            inside += ["runuser", "-u", user, "--"]
        environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LC_ALL": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive",
            "HOME": f"/home/{user}" if user else "/root",
        }
        done = subprocess.run(
            [*inside, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env=environment,
            stdin=subprocess.DEVNULL,
            **more,
        )
        if check and done.returncode != 0:
            raise Failed(f"{' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def eventually(self, holds, what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > end or self.process.poll() is not None:
                raise Failed(f"not within {PATIENCE:g} s: {what}")
            time.sleep(0.1)

    def path(self, name: str) -> Path:
        """A path of it as this machine sees it; not below /run and /tmp."""
        return self.root / name.lstrip("/")

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()  # of unshare, with which all dies
            self.process.communicate()
        for folder in sorted(self.group.glob("**/"), key=lambda one: -len(one.parts)):
            for _ in range(100):
                with contextlib.suppress(OSError):
                    folder.rmdir()
                if not folder.exists():
                    break
                time.sleep(0.05)


@contextlib.contextmanager
def started(root: Path, shared: dict[str, Path]) -> Iterator[CleanRoot]:
    system = CleanRoot(root, shared)
    try:
        system.start()
        yield system
    finally:
        system.stop()
        if not os.environ.get("CRAB_KEEP_ROOT"):
            shutil.rmtree(root, ignore_errors=True)
