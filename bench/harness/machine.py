"""The machine, the compiler and the commit that a result belongs to."""

import os
import platform
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _first_line(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return (done.stdout.splitlines() or ["unknown"])[0]


def describe():
    """A flat dict for the head of a table and for --json."""
    cpu = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    memory = re.search(r"^MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text(), re.M)
    changed = _first_line("git", "status", "--porcelain", "--untracked-files=no")
    return {
        "cpu": cpu.group(1) if cpu else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(memory.group(1)) / 2**20, 1) if memory else None,
        "kernel": platform.release(),
        "compiler": _first_line("clang++-19", "--version"),
        "commit": _first_line("git", "rev-parse", "--short=12", "HEAD")
        + ("" if changed == "unknown" else "+changes"),
        "load_average": round(os.getloadavg()[0], 2),
    }


def cores(placement):
    """(core of the server, core of the load): `same` puts both on the first one, `split` on the
    first two."""
    usable = sorted(os.sched_getaffinity(0))
    return (
        (usable[0], usable[0]) if placement == "same" or len(usable) < 2 else (usable[0], usable[1])
    )
