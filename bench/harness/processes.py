"""Children that never outlive the run: each is ended on the way out, and dies with its parent if
even that is skipped."""

import ctypes
import os
import queue
import signal
import subprocess
import threading
from pathlib import Path

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


class Unavailable(Exception):
    """A server that this machine or this commit does not have; its rows are skipped, and the text
    says why."""


def start(command, core=None, **options):
    """Popen with a pinned core (None: any). The child dies when this process does, however that
    happens."""

    def in_child():
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if core is not None:
            os.sched_setaffinity(0, {core})

    return subprocess.Popen(
        [str(word) for word in command], start_new_session=True, preexec_fn=in_child, **options
    )


def stop(process, patience=3):
    """Ends a child: asks, waits that many seconds, then kills."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            pipe.close()


def cpu_ns(pid):
    """CPU time of all threads, from the scheduler's clock."""
    return sum(
        int((task / "schedstat").read_text().split()[0])
        for task in Path(f"/proc/{pid}/task").iterdir()
    )


def line_with(process, wanted, seconds):
    """The first line of the child's standard output that holds `wanted`; the rest of its output is
    drained and dropped."""
    lines = queue.Queue()

    def read():
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=seconds)
        except queue.Empty:
            raise RuntimeError(
                f"{process.args[0]}: no line with {wanted!r} in {seconds} s"
            ) from None
        if line is None:
            raise RuntimeError(
                f"{process.args[0]} ended (status {process.wait()}) before it was ready"
            )
        if wanted in line:
            return line
