"""`-DCRAB_WEB=OFF`: the tree is configured without the pages, and the gateway that comes of it, the
program of CRAB_BUILD with the pages' two files from that build, does everything else."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import ClassVar
from unittest.mock import patch

from support.gateway import Gateway

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CRAB_BUILD", ROOT / "build/dev"))
PAGES = ("device_page_files.cpp.o", "console_page_files.cpp.o")


def run(*words: str, folder: Path) -> str:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{shlex.join(words)[:300]}:\n{done.stdout}{done.stderr}"
    return done.stdout


def setting(name: str) -> str:
    """A value of the build's cache."""
    lines = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8").splitlines()
    return next((line.partition("=")[2] for line in lines if line.startswith(f"{name}:")), "")


@unittest.skipUnless((BUILD / "build.ninja").exists(), "the build is not made by Ninja")
class WithoutPagesTest(unittest.TestCase):
    program: ClassVar[Path]

    @classmethod
    def setUpClass(cls) -> None:
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="crab-bare-")))
        kept = ("CMAKE_BUILD_TYPE", "CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER", "CRAB_SANITIZE")
        options = [f"-D{name}={setting(name)}" for name in kept if setting(name)]
        cls.program = folder / "crab"
        cls.configured = folder / "build"
        # Two files are not worth precompiled headers, nor what else their module is made of.
        options += ["-DCRAB_WEB=OFF", "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON"]
        run("cmake", "-S", str(ROOT), "-B", str(cls.configured), "-G", "Ninja", *options,
            folder=folder)  # fmt: skip
        targets = run("ninja", "-t", "targets", "all", folder=cls.configured)
        cls.objects = [
            line.partition(":")[0] for line in targets.splitlines() if ".cpp.o:" in line
            and line.partition(":")[0].endswith(PAGES)
        ]  # fmt: skip
        commands = run("ninja", "-t", "commands", *cls.objects, folder=cls.configured)
        for command in commands.splitlines():
            if "embed_site.py" in command or any(f"-o {name} " in command for name in cls.objects):
                run("sh", "-c", command, folder=cls.configured)
        cls.link()

    @classmethod
    def link(cls) -> None:
        """As the build links the program, but for the pages and the name."""
        command = run("ninja", "-t", "commands", "crab", folder=BUILD).splitlines()[-1]
        link = command.partition("&& ")[2].rpartition(" && ")[0]
        words = [word for word in shlex.split(link) if not word.endswith(PAGES)]
        words[words.index("-o") + 1] = str(cls.program)
        run(*words, *(str(cls.configured / each) for each in cls.objects), folder=BUILD)

    def test_a15_nothing_of_it_needs_node(self) -> None:
        commands = run("ninja", "-t", "commands", "all", folder=self.configured)
        for part in ("vite.js", "NpmInstall", "bin/tsc"):
            self.assertFalse(part in commands, part)

    def test_a15_it_calls_tools_and_says_that_it_has_no_pages(self) -> None:
        with patch.dict(os.environ, {"CRAB_BIN": str(self.program)}):
            with Gateway({"listen": {"console": "people"}}) as gateway:
                self.assertEqual(gateway.call("list_devices").status, "ok")
                for path, name in (("/device/", b"device page"), ("/console/", b"console")):
                    answer = gateway.fetch("GET", path)
                    self.assertEqual(answer.status, 404, path)
                    self.assertIn(b"without the " + name, answer.body)
                status = gateway.admin_request("GET", "/v1/admin/status")
                self.assertEqual(status.status, 200)


if __name__ == "__main__":
    unittest.main()
