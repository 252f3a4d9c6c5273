#!/usr/bin/env python3
"""libcrab as docs/how_to/write_a_tool.md installs it: installed_sdk_test.py CMAKE BUILD_DIR
COMPILER. Builds an example against it in both ways."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CMAKE, BUILD, COMPILER = sys.argv[1:4] if len(sys.argv) > 3 else ("cmake", "build/dev", "c++")
SAMPLE = Path(__file__).resolve().parent / "thermometer_device/main.cpp"
PROJECT = """cmake_minimum_required(VERSION 3.20)
project(thermometer CXX)
find_package(crab 0.1 REQUIRED)
add_executable(thermometer {sample})
target_link_libraries(thermometer PRIVATE crab::crab)
"""


class InstalledSdkTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="crab-sdk-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.run_it(
            CMAKE, "--install", BUILD, "--component", "sdk", "--prefix", str(cls.folder / "first")
        )
        (cls.folder / "first").rename(
            cls.folder / "moved here"
        )  # nothing in it may know where it was
        cls.prefix = cls.folder / "moved here"

    @staticmethod
    def run_it(*command: str, **environment: str) -> str:
        done = subprocess.run(
            command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def assert_runs(self, program: Path) -> None:
        """Against nobody: it has to say why it ends."""
        done = subprocess.run([program, "no address"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no address", done.stderr)

    def test_pkg_config_finds_it_where_it_was_moved(self) -> None:
        folder = next(self.prefix.rglob("crab.pc")).parent
        words = self.run_it(
            "pkg-config", "--cflags", "--libs", "--static", "crab", PKG_CONFIG_PATH=str(folder)
        )
        program = self.folder / "by_pkg_config"
        self.run_it(
            "sh",
            "-c",
            f"'{COMPILER}' -std=c++23 $CXXFLAGS '{SAMPLE}' -o '{program}' {words.strip()}",
        )
        self.assert_runs(program)

    def test_cmake_finds_it_and_says_which_standard(self) -> None:
        source, build = self.folder / "source", self.folder / "build"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(PROJECT.format(sample=SAMPLE))
        self.run_it(
            CMAKE,
            "-S",
            str(source),
            "-B",
            str(build),
            f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DCMAKE_CXX_COMPILER={COMPILER}",
        )
        self.run_it(CMAKE, "--build", str(build))
        self.assert_runs(build / "thermometer")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
