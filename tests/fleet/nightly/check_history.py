"""What a history of a fleet has to be like: docs/protocols/fleet.md, section 9, I1 to I4.

A history is a list of events in the order of one machine's clock, each a dict with `t` (seconds)
and `what`:

- `invoke`, `ok`, `nothing`, `unknown`: an attempt of a caller, by `attempt` and `key`. `nothing`:
  its answer says that nothing was run by it; `ok` has `value`.
- `start`, `end`: a run at a device, by `request` and `key`; `end` has the `value` that it answered.
- `fault`, `healed`: of `part`: node, nats, database.

Keys that begin with `again` are of an idempotent tool."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

Event = Mapping[str, Any]


def check(history: Iterable[Event]) -> list[str]:
    """What is broken, a sentence each."""
    events = list(history)
    by_key: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        if "key" in event:
            by_key[event["key"]].append(event)
    outages = _outages(events)
    broken = _requests(events)
    for key, of_key in by_key.items():
        broken += [f"{key}: {what}" for what in _one_key(key, of_key, outages)]
    return broken


def _outages(events: list[Event]) -> list[tuple[float, float]]:
    """When the database was away."""
    found, begun = [], None
    for event in events:
        if event.get("part") != "database":
            continue
        if event["what"] == "fault":
            begun = event["t"]
        elif begun is not None:
            found.append((begun, event["t"]))
            begun = None
    if begun is not None:
        found.append((begun, float("inf")))
    return found


def _requests(events: list[Event]) -> list[str]:
    seen: set[str] = set()
    broken = []
    for event in events:
        if event["what"] != "start":
            continue
        if event["request"] in seen:
            broken.append(f"{event['key']}: the request {event['request']} was begun twice")
        seen.add(event["request"])
    return broken


def _one_key(key: str, events: list[Event], outages: list[tuple[float, float]]) -> list[str]:
    idempotent = key.startswith("again")
    starts = [event for event in events if event["what"] == "start"]
    broken = []
    if len(starts) > 1 and not idempotent:
        broken.append(f"I1: it was run {len(starts)} times")
    broken += _results(events, idempotent, outages)
    broken += _nothing_run(events)
    return broken


def _results(
    events: list[Event], idempotent: bool, outages: list[tuple[float, float]]
) -> list[str]:
    """I2 and I4. An end that the database could not take may go with its node: after that nobody
    knows it, and an idempotent tool may run again."""
    broken = []
    ended: set[str] = set()
    begun: dict[str, float] = {}
    first: Event | None = None
    lost = False  #: whether the first answer may have been forgotten
    for event in events:
        if event["what"] == "end":
            ended.add(event["value"])
        elif event["what"] == "invoke":
            begun[event["attempt"]] = event["t"]
        elif event["what"] == "ok":
            if event["value"] not in ended:
                broken.append(f"I2: {event['value']!r} is the result of no run that has ended")
            if first is None:
                first = event
                lost = _meets(outages, begun.get(event["attempt"], event["t"]), event["t"])
            elif event["value"] != first["value"] and not (idempotent and lost):
                broken.append(f"I2: first {first['value']!r}, then {event['value']!r}")
        elif event["what"] == "unknown" and event.get("told") and first is not None and not lost:
            # Of an attempt that began when the outcome was known already.
            if begun.get(event["attempt"], 0.0) > first["t"]:
                broken.append(f"I4: it was {first['value']!r}, and is unknown now")
    return broken


def _meets(outages: list[tuple[float, float]], since: float, until: float) -> bool:
    """A second more on both sides: what was sent just before may not have arrived."""
    return any(begun <= until + 1 and end >= since - 1 for begun, end in outages)


def _nothing_run(events: list[Event]) -> list[str]:
    """I3: a run needs an attempt that was begun before and has not been told that nothing runs."""
    open_attempts: set[str] = set()
    broken = []
    for event in events:
        if event["what"] == "invoke":
            open_attempts.add(event["attempt"])
        elif event["what"] == "nothing":
            open_attempts.discard(event["attempt"])
        elif event["what"] == "start" and not open_attempts:
            broken.append("I3: it was run when all who asked had been told that nothing was")
    return broken
