"""Which failures are expected, and the table that people read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .suite import Outcome


def expected_failures(file: Path, leg: str) -> set[str]:
    """The scenarios that `file` lists under `leg`; its form is that of the suite's
    --expected-failures, so it can be given to the suite as well."""
    section, found = "", set()
    for line in file.read_text().splitlines():
        words = line.partition("#")[0].rstrip()
        if words and not words.startswith((" ", "-")):
            section = words.partition(":")[0]
        elif section == leg and words.strip().startswith("- "):
            found.add(words.strip()[2:].partition(":")[0].strip("'\""))
    return found


@dataclass
class Verdict:
    """One run of one set: `title` says of what."""

    title: str
    outcomes: Sequence[Outcome]
    expected: set[str]

    @property
    def surprises(self) -> list[str]:
        """What is not as expected; empty if all is well."""
        found = []
        for outcome in self.outcomes:
            if not outcome.is_good and outcome.scenario not in self.expected:
                found.append(f"{outcome.scenario} failed")
            elif outcome.is_good and outcome.scenario in self.expected:
                found.append(f"{outcome.scenario} passed, though the baseline lists it")
        return found

    def show(self) -> None:
        """Prints the table, the problems, and the line that sums up."""
        width = max(len(outcome.scenario) for outcome in self.outcomes)
        print(f"\n== {self.title}\n")
        print(f"{'scenario':{width}}  passed  failed  warned")
        for outcome in self.outcomes:
            notes = [] if outcome.scored else ["not scored"]
            notes += ["expected to fail"] if outcome.scenario in self.expected else []
            notes += ["skipped"] if outcome.skipped and not outcome.passed else []
            print(
                f"{outcome.scenario:{width}}  {outcome.passed:6}  {outcome.failed:6}  "
                f"{outcome.warnings:6}  {', '.join(notes)}".rstrip()
            )
        for outcome in self.outcomes:
            for problem in outcome.problems:
                print(f"  {outcome.scenario}: {problem[:300]}")
        scored = [outcome for outcome in self.outcomes if outcome.scored]
        others = [outcome for outcome in self.outcomes if not outcome.scored]
        print(
            f"\n{self.title}: {sum(one.is_good for one in scored)} of {len(scored)} scored "
            f"scenarios pass, {sum(one.is_good for one in others)} of {len(others)} others; "
            f"{sum(one.passed for one in self.outcomes)} checks passed, "
            f"{sum(one.failed for one in self.outcomes)} failed"
        )
        for surprise in self.surprises:
            print(f"UNEXPECTED: {surprise}")
        print(flush=True)
