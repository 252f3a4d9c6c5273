#!/usr/bin/env python3
"""The programs of docs/how_to/write_a_tool.md, as they stand there, each at a real gateway:
quickstarts_test.py CMAKE BUILD_DIR COMPILER."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from installed_sdk import compile_with_pkg_config, install
from support.case import GatewayCase
from support.gateway import program
from support.node_device import MISSING, NODE, PACKAGE

CMAKE, BUILD, COMPILER = sys.argv[1:4] if len(sys.argv) > 3 else ("cmake", "build/dev", "c++")
ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/how_to/write_a_tool.md"
PATIENCE = 20.0


def block(language: str) -> str:
    """The first block of that language below its name in bold."""
    names = {"cpp": "C++", "python": "Python", "ts": "TypeScript", "sh": "Shell"}
    found = re.search(
        rf"\*\*{re.escape(names[language])}\*\*.*?\n```{language}\n(.*?)```",
        PAGE.read_text(encoding="utf-8"),
        re.DOTALL,
    )
    assert found, f"the page has no program in {language}"
    return found[1]


class QuickstartsTest(GatewayCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="crab-quick-")))
        (self.folder / "token").touch(0o600)  # as crab devices pair makes it
        (self.folder / "token").write_text(self.new_token("kitchen") + "\n")

    def written(self, language: str, name: str) -> Path:
        """The program in a file, at this gateway's address."""
        address = f"127.0.0.1:{self.gateway.public[1]}"
        source = block(language)
        self.assertEqual(source.count("127.0.0.1:42617"), 1)
        file = self.folder / name
        file.write_text(source.replace("127.0.0.1:42617", address))
        return file

    def assert_serves(self, *command: str | Path, **environment: str) -> None:
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env={**os.environ, **environment},
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            self.gateway.wait_listed("read_thermometer")
            call = self.gateway.call("read_thermometer", {"room": "kitchen"})
            self.assertIn(call.result, ({"celsius": 21.5}, {"text": '{"celsius":21.5}'}))
            refused = self.gateway.call("read_thermometer", {"room": "attic"})
            self.assertEqual(refused.code, "INVALID_ARGS")
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(PATIENCE)
        self.gateway.wait_gone("read_thermometer")

    def test_python(self) -> None:
        lines = [line for line in block("python").splitlines() if line.strip()]
        self.assertLessEqual(len(lines), 10)
        self.assert_serves(
            sys.executable,
            self.written("python", "kitchen.py"),
            PYTHONPATH=str(ROOT / "clients/python/src"),
        )

    def test_shell(self) -> None:
        script = self.written("sh", "kitchen.sh")
        path = f"{Path(program()).parent}:{os.environ['PATH']}"
        self.assert_serves("sh", script, PATH=path)

    @unittest.skipIf(MISSING, MISSING)
    def test_typescript(self) -> None:
        file = self.written("ts", "kitchen.mjs")
        modules = self.folder / "node_modules"
        (modules / "@crab").mkdir(parents=True)
        package = modules / "@crab/device"
        package.mkdir()
        (package / "package.json").write_text('{"type":"module","exports":"./dist/index.js"}')
        (package / "dist").symlink_to(PACKAGE)
        (modules / "ws").symlink_to(ROOT / "node_modules/ws")
        assert NODE
        self.assert_serves(NODE, file)

    def test_cpp(self) -> None:
        source, sdk = self.written("cpp", "kitchen.cpp"), self.folder / "sdk"
        lines = [line for line in source.read_text().splitlines() if line.strip()]
        self.assertLessEqual(len(lines), 10)
        install(CMAKE, BUILD, sdk)
        compiled = self.folder / "kitchen"
        compile_with_pkg_config(COMPILER, source, compiled, sdk)
        self.assert_serves(compiled)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
