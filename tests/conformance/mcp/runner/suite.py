"""The official suite: installed outside of the repository's set-up, run, and its results read."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
NODE, SUITE = "node@22", "@modelcontextprotocol/conformance"
VERSION = "0.2.0-alpha.12"
_ALWAYS_SKIPS = {"tasks-status-notifications"}  # it waits for a harness of its own
_STAMP = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")


class Unusable(Exception):
    """The suite cannot be run here; the message says what to do."""


@dataclass
class Outcome:
    """What one scenario found; `problems` are texts of failed checks and warnings."""

    scenario: str
    scored: bool
    passed: int = 0
    failed: int = 0
    warnings: int = 0
    skipped: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """A scenario that checked nothing has not passed, whatever the suite says."""
        return self.failed == 0 and (self.passed > 0 or self.scenario in _ALWAYS_SKIPS)


@dataclass
class Requirements:
    """The scenarios of a revision's set for one leg, `server` or `client`."""

    scored: list[str]
    not_scored: list[str]


class Suite:
    """The installed suite in `folder`, by default build/mcp-suite or $CRAB_MCP_SUITE."""

    def __init__(self, folder: Path | None = None) -> None:
        chosen = os.environ.get("CRAB_MCP_SUITE")
        self.folder = folder or (Path(chosen) if chosen else ROOT / "build" / "mcp-suite")
        self._modules = self.folder / "node_modules"
        self._package = self._modules / SUITE

    def install(self) -> None:
        """Fetches what is not there, from the registry that npm is configured with."""
        if self._version() == VERSION and self._node().exists():
            return
        if shutil.which("npm") is None:
            raise Unusable("npm is missing; scripts/setup.sh installs it")
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "package.json").write_text('{"name": "mcp-suite", "private": true}\n')
        wanted = [NODE, f"{SUITE}@{VERSION}"]
        print(f"installing {' and '.join(wanted)} in {self.folder}", flush=True)
        command = ["npm", "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"]
        if subprocess.run([*command, *wanted], cwd=self.folder).returncode != 0:
            raise Unusable("npm install failed; its messages are above")
        if self._version() != VERSION or not self._node().exists():
            raise Unusable(f"npm left no {NODE} or no suite {VERSION} in {self.folder}")

    def _version(self) -> str | None:
        try:
            return json.loads((self._package / "package.json").read_text())["version"]
        except FileNotFoundError:
            return None

    def _node(self) -> Path:
        return self._modules / "node" / "bin" / "node"

    def requirements(self, revision: str, leg: str) -> Requirements:
        """Reads the set's YAML, which is lists of words and of three-line entries."""
        text = (self._package / "requirements" / f"{revision}.yaml").read_text()
        scored: list[str] = []
        section = ""
        for line in text.splitlines():
            if line and not line.startswith((" ", "#", "-")):
                section = line.rstrip(":")
            elif section == leg and line.startswith("  - "):
                scored.append(line[4:].strip())
        entries = re.findall(r"- scenario: (\S+)\n\s+leg: (\w+)", text)
        return Requirements(scored, [name for name, of in entries if of == leg])

    def run(self, leg: str, words: Sequence[str], revision: str, out: Path) -> list[Outcome]:
        """Runs a revision's set; what it prints goes to `out`/log."""
        out.mkdir(parents=True, exist_ok=True)
        script = self._package / "dist" / "index.js"
        command = [str(self._node()), str(script), leg, *words, "--requirements", revision]
        path = f"{self._node().parent}:{os.environ.get('PATH', '')}"
        with (out / "log").open("w") as log:
            subprocess.run(
                [*command, "-o", str(out)],
                env={**os.environ, "PATH": path},
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                timeout=1200,
            )
        wanted = self.requirements(revision, leg)
        return read_outcomes(out, leg, wanted)


def read_outcomes(out: Path, leg: str, wanted: Requirements) -> list[Outcome]:
    """One outcome for each scenario of the set, also for one that left no results."""
    found: dict[str, Path] = {}
    for file in out.rglob("checks.json"):
        name = _STAMP.sub("", str(file.parent.relative_to(out)))
        found[name.removeprefix(f"{leg}-")] = file
    outcomes = [Outcome(name, True) for name in wanted.scored]
    outcomes += [Outcome(name, False) for name in wanted.not_scored]
    for outcome in outcomes:
        if outcome.scenario in found:
            _count(outcome, json.loads(found[outcome.scenario].read_text()))
        else:
            outcome.failed = 1
            outcome.problems.append("no results; the log says why")
    return outcomes


def _count(outcome: Outcome, checks: list[dict[str, str]]) -> None:
    for check in checks:
        status = check["status"]
        if status == "SUCCESS":
            outcome.passed += 1
        elif status == "SKIPPED":
            outcome.skipped += 1
        elif status in ("FAILURE", "WARNING"):
            if status == "FAILURE":
                outcome.failed += 1
            else:
                outcome.warnings += 1
            what = check.get("errorMessage") or check.get("description", "")
            outcome.problems.append(f"{status.lower()} {check['id']}: {what}")
