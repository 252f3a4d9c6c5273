"""The command line of the runner."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from contextlib import AbstractContextManager
from pathlib import Path

from . import subjects
from .suite import Outcome, Suite, Unusable
from .verdict import Verdict, expected_failures

FOLDER = Path(__file__).resolve().parents[1]
REVISIONS = ("2025-11-25", "2026-07-28")
PAGE = """Runs the official MCP conformance suite, whose requirement sets are frozen per revision.

  run fixture          the fixture server alone, over HTTP: proves the fixture
  run server [WAY...]  a gateway with the fixture behind it: stdio-modern, http-modern,
                       stdio-legacy, http-legacy; all four without any. Or only the plain
                       tools, on what is no MCP server: device, rtp-host
  run url URL          any other server, for comparison
  run client           a gateway as the client of the suite's servers
  run client --direct  tests/harness/mcp_client.py as the client: proves conformance_client

CRAB_BIN names the gateway's executable (default build/dev/crab), CRAB_MCP_SUITE the folder that the
suite is installed in (default build/mcp-suite). Exit status 1 if anything is not as the baseline
says, 2 if the suite or the gateway cannot be run.
"""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="run", description=PAGE, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("subject", choices=["fixture", "server", "url", "client"])
    parser.add_argument("words", nargs="*", metavar="WAY|URL")
    parser.add_argument("--revision", choices=REVISIONS, help="only this set")
    parser.add_argument("--direct", action="store_true")
    parser.add_argument("--out", type=Path, help="folder for results (default: a new one in /tmp)")
    given = parser.parse_args()
    if given.subject == "url" and len(given.words) != 1:
        parser.error("url takes one URL")
    if given.subject == "server" and (
        unknown := set(given.words) - set(subjects.WAYS) - set(subjects.HOSTS)
    ):
        parser.error(f"no way {', '.join(sorted(unknown))}")
    return given


def _verdict(title: str, outcomes: list[Outcome], baseline: str | None, leg: str) -> Verdict:
    expected = expected_failures(FOLDER / baseline, leg) if baseline else set()
    verdict = Verdict(title, outcomes, expected & {outcome.scenario for outcome in outcomes})
    verdict.show()
    return verdict


def _servers(
    given: argparse.Namespace,
) -> list[tuple[str, AbstractContextManager[str], str | None]]:
    """Title, what gives the URL, and the baseline, of each server to be measured."""
    if given.subject == "fixture":
        return [("fixture", subjects.fixture(), None)]
    if given.subject == "url":
        return [("other", contextlib.nullcontext(given.words[0]), None)]
    ways = given.words or list(subjects.WAYS)
    return [(way, subjects.behind_gateway(way), subjects.baseline_of(way)) for way in ways]


def _run(given: argparse.Namespace, suite: Suite, out: Path) -> list[Verdict]:
    revisions = [given.revision] if given.revision else REVISIONS
    verdicts = []
    if given.subject == "client":
        if given.direct:
            os.environ["CRAB_MCP_DIRECT"] = "1"
        else:
            subjects.find_gateway()
        for revision in revisions:
            words = ["--command", str(FOLDER / "conformance_client"), "--timeout", "30000"]
            outcomes = suite.run("client", words, revision, out / f"client-{revision}")
            baseline = "baseline.direct.yml" if given.direct else "baseline.yml"
            verdicts.append(_verdict(f"client {revision}", outcomes, baseline, "client"))
        return verdicts
    for title, server, baseline in _servers(given):
        with server as url:
            for revision in revisions:
                place = out / f"{title}-{revision}"
                outcomes = suite.run("server", ["--url", url], revision, place)
                verdicts.append(_verdict(f"{title} {revision}", outcomes, baseline, "server"))
    return verdicts


def main() -> int:
    given = _arguments()
    suite = Suite()
    out = given.out or subjects.new_folder()
    try:
        suite.install()
        verdicts = _run(given, suite, out)
    except Unusable as error:
        print(f"run: {error}", file=sys.stderr)
        return 2
    surprises = sum(len(verdict.surprises) for verdict in verdicts)
    print(f"results and logs: {out}")
    print("all as expected" if not surprises else f"{surprises} unexpected, see UNEXPECTED above")
    return 1 if surprises else 0
