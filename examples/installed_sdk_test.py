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

from installed_sdk import compile_with_pkg_config, flags_of_pkg_config, install, run_it

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

    def assert_runs(self, program: Path, **environment: str) -> None:
        """Against nobody: it has to say why it ends."""
        done = subprocess.run(
            [program, "no address"],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("no address", done.stderr)

    def build_with_cmake(self, prefix: Path, folder: Path) -> Path:
        source, build = folder / "source", folder / "build"
        source.mkdir(parents=True)
        (source / "CMakeLists.txt").write_text(PROJECT.format(sample=SAMPLE))
        run_it(
            CMAKE,
            "-S",
            str(source),
            "-B",
            str(build),
            f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_CXX_COMPILER={COMPILER}",
        )
        run_it(CMAKE, "--build", str(build))
        return build / "thermometer"

    def test_pkg_config_finds_it_where_it_was_moved(self) -> None:
        program = self.folder / "by_pkg_config"
        compile_with_pkg_config(COMPILER, SAMPLE, program, self.prefix)
        self.assert_runs(program)

    def test_cmake_finds_it_and_says_which_standard(self) -> None:
        self.assert_runs(self.build_with_cmake(self.prefix, self.folder / "cmake"))

    def test_the_shared_library_in_its_place_needs_no_other(self) -> None:
        built = list(Path(BUILD, "src/sdk").glob("libcrab.so*"))
        if not built:
            self.skipTest("this build has no shared library")
        prefix = self.folder / "shared"
        shutil.copytree(self.prefix, prefix)
        archive = next(prefix.rglob("libcrab.a"))
        archive.unlink()
        for file in built:
            shutil.copy2(file, archive.parent, follow_symlinks=False)
        self.assertRegex(flags_of_pkg_config(prefix), "-lcrab$")
        program = self.folder / "by_shared_library"
        compile_with_pkg_config(COMPILER, SAMPLE, program, prefix, static=False)
        for found in (program, self.build_with_cmake(prefix, self.folder / "cmake_shared")):
            self.assertIn("libcrab.so.0", run_it("objdump", "-p", str(found)))
            self.assert_runs(found, LD_LIBRARY_PATH=str(archive.parent))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
