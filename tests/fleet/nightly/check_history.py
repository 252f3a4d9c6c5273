"""What a history of a fleet has to be like: docs/protocols/fleet.md, section 9, I1 to I6.

A history is a list of events in the order of one machine's clock, each a dict with `t` (seconds)
and `what`:

- `invoke`, `ok`, `nothing`, `unknown`: an attempt of a caller, by `attempt` and `key`. `nothing`:
  its answer says that nothing was run by it; `ok` has `value`.
- `start`, `end`: a run at a device, by `request` and `key`; `end` has the `value` that it answered.
- `fault`, `healed`: of `part`: node, nats, database.
- `accepted`: an event that a node has taken, by `event`.
- `told`: what a stream tells, by `reader`, at `position`: `event`. `line`: the same of the table
  itself, read when all is over, in order, with the call that the event `begins` or `ends`.
- `fired`: a job's due time, by `job` and `due` (minutes), as the line has it.

Keys that begin with `again` are of an idempotent tool."""

from __future__ import annotations

from collections import Counter, defaultdict
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
    broken = _requests(events) + _line(events) + _jobs(events)
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


def _line(events: list[Event]) -> list[str]:
    """I5: one dense line that has everything once, and every reader is told all of it in order."""
    line = {event["position"]: event["event"] for event in events if event["what"] == "line"}
    broken = []
    positions = sorted(line)
    if positions and positions[-1] - positions[0] + 1 != len(positions):
        broken.append("I5: the line of events has gaps")
    twice = [event for event, count in Counter(line.values()).items() if count > 1]
    broken += [f"I5: the event {event} has two positions" for event in twice]
    known = set(line.values())
    broken += [
        f"I5: the event {event['event']} was accepted, and is not in the line"
        for event in events
        if event["what"] == "accepted" and event["event"] not in known
    ]
    running: Counter[str] = Counter()
    for event in (one for one in events if one["what"] == "line"):
        running.update([event["begins"]] if event.get("begins") else [])
        running.subtract([event["ends"]] if event.get("ends") else [])
        if event.get("ends") and running[event["ends"]] < 0:
            broken.append(f"I5: {event['ends']} has ended more often than it began")
    return broken + _told(events, line)


def _told(events: list[Event], line: Mapping[int, str]) -> list[str]:
    last: dict[str, int] = {}
    broken = []
    for event in events:
        if event["what"] != "told":
            continue
        reader, position = event["reader"], event["position"]
        if line.get(position) != event["event"]:
            broken.append(f"I5: {reader} was told something else at {position}")
        if reader in last and position != last[reader] + 1:
            broken.append(f"I5: {reader} was told {position} after {last[reader]}")
        last[reader] = position
    end = max(line, default=0)
    return broken + [f"I5: {reader} was not told the end" for reader in last if last[reader] != end]


def _jobs(events: list[Event]) -> list[str]:
    """I6: each due time of a job fires once."""
    fired: dict[str, list[int]] = defaultdict(list)
    for event in events:
        if event["what"] == "fired":
            fired[event["job"]].append(event["due"])
    broken = []
    for job, times in fired.items():
        if len(times) != len(set(times)):
            broken.append(f"I6: a due time of {job} has fired twice")
        if max(times) - min(times) + 1 != len(set(times)):
            broken.append(f"I6: a due time of {job} has not fired")
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
