"""libcrab as its users get it: installed, and a program compiled against what pkg-config says."""

import os
import subprocess
from pathlib import Path


def run_it(*command: str, **environment: str) -> str:
    """What it prints. Raises AssertionError with all of it when it fails."""
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def install(cmake: str, build: str, prefix: Path) -> None:
    run_it(cmake, "--install", build, "--component", "sdk", "--prefix", str(prefix))


def compile_with_pkg_config(compiler: str, source: Path, program: Path, prefix: Path) -> None:
    folder = next(prefix.rglob("crab.pc")).parent
    words = run_it(
        "pkg-config", "--cflags", "--libs", "--static", "crab", PKG_CONFIG_PATH=str(folder)
    )
    run_it(
        "sh", "-c", f"'{compiler}' -std=c++23 $CXXFLAGS '{source}' -o '{program}' {words.strip()}"
    )
