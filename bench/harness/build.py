"""Builds what a benchmark needs, in build/release unless told otherwise."""

import os
import subprocess
import sys

from .machine import ROOT

#: The folder of copies without debug information, newer than what was built.
COPIES = "instructions"


class Build:
    def __init__(self, folder, *settings, built=False):
        """`built`: everything is there, nothing is built."""
        self.folder, self.built = (ROOT / folder).resolve(), built
        if built:
            return
        if not (self.folder / "build.ninja").exists():
            self._run("cmake", "--preset", "release", "-B", self.folder, *settings)
        else:
            self._run("cmake", self.folder)  # picks up targets that are new since

    def has(self, target):
        query = subprocess.run(
            ["ninja", "-C", self.folder, "-t", "query", target], capture_output=True, cwd=ROOT
        )
        return query.returncode == 0

    def executable(self, target):
        """Builds `target` and returns its path."""
        self._build(target)
        found = [
            each
            for each in self.folder.rglob(target)
            if each.is_file() and os.access(each, os.X_OK) and COPIES not in each.parts
        ]
        if not found:
            raise RuntimeError(f"{target} was built, but no such executable is in {self.folder}")
        return max(found, key=lambda each: each.stat().st_mtime)  # others are where it was before

    def library(self, target):
        """Builds a library that programs load, and returns its path."""
        self._build(target)
        return next(self.folder.rglob(f"{target}.so"))

    def _build(self, target):
        if not self.built:
            self._run("cmake", "--build", self.folder, "--target", target)

    @staticmethod
    def _run(*command):
        done = subprocess.run(
            [str(word) for word in command],
            cwd=ROOT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if done.returncode != 0:
            print(done.stdout, file=sys.stderr)
            raise RuntimeError("failed: " + " ".join(map(str, command)))
