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


def flags_of_pkg_config(prefix: Path, static: bool = False) -> str:
    folder = next(prefix.rglob("crab.pc")).parent
    command = ["pkg-config", "--cflags", "--libs", "crab"] + ["--static"] * static
    return run_it(*command, PKG_CONFIG_PATH=str(folder)).strip()


def compile_with_pkg_config(
    compiler: str, source: Path, program: Path, prefix: Path, static: bool = True
) -> None:
    flags = flags_of_pkg_config(prefix, static)
    run_it("sh", "-c", f"'{compiler}' -std=c++23 $CXXFLAGS '{source}' -o '{program}' {flags}")
