"""Runs bench_load once and returns what it printed."""

import json
import subprocess

from . import processes


def run(program, core, *words, pass_fds=()):
    """Blocks until the load ends. Raises RuntimeError with its own words when it fails."""
    process = processes.start([program, *words], core, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, pass_fds=pass_fds)
    try:
        out, errors = process.communicate()
    finally:
        processes.stop(process)
    if process.returncode != 0:
        raise RuntimeError(errors.strip() or f"bench_load ended with status {process.returncode}")
    return json.loads(out)
