#!/usr/bin/env python3
"""libcrab as docs/how_to/write_a_tool.md installs it: installed_sdk_test.py CMAKE BUILD_DIR
COMPILER. Builds an example against it in both ways."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from installed_sdk import compile_with_pkg_config, install, run_it

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
        install(CMAKE, BUILD, cls.folder / "first")
        (cls.folder / "first").rename(
            cls.folder / "moved here"
        )  # nothing in it may know where it was
        cls.prefix = cls.folder / "moved here"

    def assert_runs(self, program: Path) -> None:
        """Against nobody: it has to say why it ends."""
        done = subprocess.run([program, "no address"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no address", done.stderr)

    def test_pkg_config_finds_it_where_it_was_moved(self) -> None:
        program = self.folder / "by_pkg_config"
        compile_with_pkg_config(COMPILER, SAMPLE, program, self.prefix)
        self.assert_runs(program)

    def test_cmake_finds_it_and_says_which_standard(self) -> None:
        source, build = self.folder / "source", self.folder / "build"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(PROJECT.format(sample=SAMPLE))
        run_it(
            CMAKE,
            "-S",
            str(source),
            "-B",
            str(build),
            f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DCMAKE_CXX_COMPILER={COMPILER}",
        )
        run_it(CMAKE, "--build", str(build))
        self.assert_runs(build / "thermometer")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
