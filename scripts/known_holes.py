#!/usr/bin/env python3
"""List versions with known holes among what a built crab contains and what builds it. Asks no
network: reads files that were fetched before. Called by audit.sh, which says where from.

usage: known_holes.py --built PROGRAM --data FOLDER
   FOLDER/debian.json   Debian's security tracker
   FOLDER/npm/*.json    advisories of npm in the form of OSV, one file each

Exit status: 0 nothing is known, 1 something is, 3 there was no data to tell by.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import components
from components import Component, Missing

RELEASE = "bookworm"
OLD_SECONDS = 7 * 86400


def is_older(version: str, fixed: str) -> bool:
    done = subprocess.run(["dpkg", "--compare-versions", version, "lt", fixed], check=False)
    return done.returncode == 0


def holes_of_debian(part: Component, tracker: dict) -> list[str]:
    found = []
    for name, issue in sorted(tracker.get(part.source, {}).items()):
        here = issue.get("releases", {}).get(RELEASE)
        if here is None or here.get("urgency") == "unimportant":
            continue
        if here["status"] == "open":
            found.append(f"{name}: open in {RELEASE}, {here.get('urgency', 'not yet assigned')}")
        elif here["status"] == "resolved" and is_older(part.source_version, here["fixed_version"]):
            found.append(f"{name}: mended in {here['fixed_version']}")
    return found


def order(version: str) -> tuple:
    """A key that sorts versions as Semantic Versioning does: pre-releases before releases."""
    core, _, pre = version.split("+")[0].partition("-")
    numbers = tuple(int(number) for number in re.findall(r"\d+", core)[:3])
    numbers += (0,) * (3 - len(numbers))
    marks = [(0, int(m), "") if m.isdigit() else (1, 0, m) for m in pre.split(".")] if pre else []
    return (*numbers, not pre, marks)


def is_in_range(version: str, events: list[dict]) -> bool:
    inside = False
    marks = []
    for event in events:
        for kind, value in event.items():
            marks.append((order(value), ("introduced", "last_affected", "fixed").index(kind), kind))
    for at, _, kind in sorted(marks):
        if kind == "introduced" and order(version) >= at:
            inside = True
        elif kind == "fixed" and order(version) >= at:
            inside = False
        elif kind == "last_affected" and order(version) > at:
            inside = False
    return inside


def holes_of_npm(part: Component, advisories: list[dict]) -> list[str]:
    found = []
    for advisory in advisories:
        if "withdrawn" in advisory:
            continue
        for affected in advisory.get("affected", []):
            package = affected.get("package", {})
            if (package.get("ecosystem"), package.get("name")) != ("npm", part.name):
                continue
            ranges = [each["events"] for each in affected.get("ranges", []) if "events" in each]
            if part.version in affected.get("versions", []) or any(
                is_in_range(part.version, events) for events in ranges
            ):
                found.append(f"{advisory['id']}: {advisory.get('summary', 'no summary')}")
                break
    return found


def warn_if_old(path: Path) -> None:
    days = int((time.time() - path.stat().st_mtime) // 86400)
    if days * 86400 >= OLD_SECONDS:
        print(f"audit: {path} is {days} days old: newer holes are not in it")


def tracker_in(folder: Path) -> dict | None:
    path = folder / "debian.json"
    if not path.is_file():
        print(f"audit: no {path}: nothing is said about Debian's packages")
        return None
    warn_if_old(path)
    return json.loads(path.read_text())


def advisories_in(folder: Path) -> list[dict] | None:
    files = sorted((folder / "npm").glob("*.json"))
    if not files:
        print(f"audit: no {folder}/npm/*.json: nothing is said about npm's packages")
        return None
    warn_if_old(max(files, key=lambda path: path.stat().st_mtime))
    return [json.loads(path.read_text()) for path in files]


def audit(program: Path, data: Path) -> int:
    parts = components.shipped(program) + components.build_tools()
    tracker, advisories = tracker_in(data), advisories_in(data)
    looked = holes = 0
    for part in sorted(parts, key=lambda part: (part.how == "build", part)):
        source = tracker if part.kind == "deb" else advisories
        if source is None:
            continue
        looked += 1
        of = holes_of_debian if part.kind == "deb" else holes_of_npm
        for hole in of(part, source):
            holes += 1
            print(f"{part.name} {part.version} ({part.how}) {hole}")
    if looked == 0:
        return 3
    print(f"audit: {looked} of {len(parts)} components compared with the data: {holes} known holes")
    return 1 if holes else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--built", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    try:
        return audit(options.built, options.data)
    except (Missing, json.JSONDecodeError, KeyError) as error:
        print(f"audit: {error!r}" if isinstance(error, KeyError) else f"audit: {error}")
        return 2


if __name__ == "__main__":
    sys.exit(main())
