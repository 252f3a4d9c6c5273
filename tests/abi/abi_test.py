#!/usr/bin/env python3
"""The types of include/crab are in memory what libcrab.abi says.

usage: abi_test.py [--write] [unittest arguments]
  --write   records what is there now
  CXX names the compiler; clang++-19 where it is not set. Needs abigail-tools.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RECORD = HERE / "libcrab.abi"
# Bits of abidiff's exit status: 1 and 2 are errors, 4 is any change, 8 one that breaks programs.
CHANGED = 4


def describe(folder: Path, include: Path = ROOT / "include") -> Path:
    """What abidw says of the public types, as a file of the folder."""
    library, described = folder / "libcrab_public.so", folder / "libcrab.abi"
    compiler = os.environ.get("CXX", "clang++-19")
    options = ["-std=c++23", "-g", "-O0", "-fPIC", "-shared", "-fstandalone-debug"]
    subprocess.run(
        [compiler, *options, "-I", include, HERE / "public_types.cpp", "-o", library], check=True
    )
    told = ["--drop-private-types", "--headers-dir", include, "--exported-interfaces-only"]
    without = ["--no-corpus-path", "--no-show-locs", "--no-comp-dir-path"]
    text = subprocess.run(
        ["abidw", *told, *without, library], capture_output=True, text=True, check=True
    ).stdout
    # the path of the source, which is of no account
    described.write_text(re.sub(r" path='[^']*public_types.cpp'", "", text))
    return described


def compared(old: Path, new: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["abidiff", "--no-show-locs", old, new], capture_output=True, text=True, check=False
    )


@unittest.skipUnless(shutil.which("abidw"), "no abidw: scripts/setup.sh installs abigail-tools")
@unittest.skipUnless(platform.machine() == "x86_64", "the record is of x86-64")
class BinaryInterface(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_types_are_what_the_record_says(self):
        done = compared(RECORD, describe(self.folder))
        words = "recorded by tests/abi/abi_test.py --write, in a new series if it breaks programs"
        self.assertEqual(done.returncode, 0, f"{done.stdout}{done.stderr}\n{words}")

    def test_every_public_type_is_described(self):
        named = set(re.findall(r"crab::(\w+)", (HERE / "public_types.cpp").read_text()))
        declared = set()
        for header in sorted((ROOT / "include/crab").glob("*.hpp")):
            if header.name != "cetp_provider.hpp":  # of an archive
                text = header.read_text()
                declared |= set(re.findall(r"(?m)^(?:class|struct|enum class) (\w+) [:{]", text))
                declared |= set(re.findall(r"(?m)^using (\w+) =", text))
        self.assertEqual(declared, named)

    def test_a_member_that_comes_first_is_seen(self):
        shutil.copytree(ROOT / "include", self.folder / "include")
        header = self.folder / "include/crab/tool_error.hpp"
        text, times = re.subn(
            r"struct ToolError \{", r"\g<0>\n    int first = 0;", header.read_text()
        )
        self.assertEqual(times, 1)
        header.write_text(text)
        done = compared(RECORD, describe(self.folder, self.folder / "include"))
        self.assertTrue(done.returncode & CHANGED, done.stdout)
        self.assertIn("ToolError", done.stdout)


if __name__ == "__main__":
    if "--write" in sys.argv:
        with tempfile.TemporaryDirectory() as made:
            shutil.copyfile(describe(Path(made)), RECORD)
    else:
        unittest.main()
