"""What setuptools makes of clients/python: a wheel that holds what belongs into it and is usable by
a program that has nothing else of this tree."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

from support.case import GatewayCase

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys, crab
from crab import Device

assert "wheel-home" in crab.__file__, crab.__file__
device = Device(sys.argv[1], name="Packed", token_file="token")

@device.tool(read_only=True)
def packed(n: int) -> int:
    \"\"\"Doubles.\"\"\"
    return 2 * n

sys.exit(0 if device.run().reason == "stopped" else 1)
"""


class PackageTest(GatewayCase):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.tree = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="crab-wheel-")))
        source = cls.tree / "source"
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
        shutil.copytree(ROOT / "clients/python", source, ignore=ignored)
        words = "from setuptools.build_meta import build_wheel; build_wheel('..')"
        done = subprocess.run(
            [sys.executable, "-c", words], cwd=source, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        [cls.wheel] = cls.tree.glob("*.whl")
        cls.home = cls.tree / "wheel-home"
        with zipfile.ZipFile(cls.wheel) as archive:
            cls.files = set(archive.namelist())
            archive.extractall(cls.home)

    def test_it_holds_the_package_its_types_and_no_tests(self) -> None:
        sources = {f"crab/{file.name}" for file in (ROOT / "clients/python/src/crab").glob("*.py")}
        self.assertEqual(
            {name for name in self.files if ".dist-info/" not in name}, sources | {"crab/py.typed"}
        )

    def test_it_has_the_version_of_the_gateway_and_needs_websockets_alone(self) -> None:
        [metadata] = self.home.glob("*.dist-info/METADATA")
        text = metadata.read_text(encoding="utf-8")
        version = (ROOT / "VERSION").read_text().split()[0]
        self.assertRegex(text, rf"(?m)^Version: {re.escape(version)}$")
        self.assertEqual(re.findall(r"(?m)^Requires-Dist: (\w+)", text), ["websockets"])

    def test_a_program_runs_on_it_and_ends_cleanly(self) -> None:
        (self.tree / "token").write_text(self.new_token("packed"))
        (self.tree / "program.py").write_text(PROGRAM)
        device = subprocess.Popen(
            [sys.executable, "program.py", f"http://127.0.0.1:{self.gateway.public[1]}"],
            cwd=self.tree,
            env={**os.environ, "PYTHONPATH": str(self.home)},
        )
        try:
            self.gateway.wait_listed("packed")
            self.assertEqual(self.gateway.call("packed", {"n": 21}).result, {"value": 42})
            device.send_signal(signal.SIGTERM)
            self.assertEqual(device.wait(20), 0)
        finally:
            device.kill()
            device.wait(20)


if __name__ == "__main__":
    unittest.main()
