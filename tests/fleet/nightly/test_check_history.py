"""check_history accepts what may happen, and rejects each forged history."""

from __future__ import annotations

import unittest
from typing import Any

from check_history import check


def history(*lines: str) -> list[dict[str, Any]]:
    """Of lines such as `ok k a1 v`: what, key, attempt or request, value; a second between two."""
    events = []
    for t, line in enumerate(lines):
        what, first, *rest = line.split()
        event: dict[str, Any] = {"t": float(t * 10), "what": what}
        if what in ("fault", "healed"):
            event["part"] = first
        elif what == "accepted":
            event["event"] = first
        elif what == "fired":
            event |= {"job": first, "due": int(rest[0])}
        elif what in ("told", "line"):
            event |= {"reader": first, "position": int(rest[0]), "event": rest[1]}
            event |= {word[0]: word[1:] for word in rest[2:]}
            event |= {"begins": event.get("+"), "ends": event.get("-")}
        else:
            event["key"] = first
            event["request" if what in ("start", "end") else "attempt"] = rest[0]
            if len(rest) > 1:
                event["value"] = rest[1]
            event["told"] = what == "unknown"
        events.append(event)
    return events


GOOD = {
    "one call": ("invoke k a1", "start k r1", "end k r1 v", "ok k a1 v"),
    "a repeat replays": (
        *("invoke k a1", "start k r1", "end k r1 v", "ok k a1 v"),
        *("invoke k a2", "ok k a2 v"),
    ),
    "nothing run, then run": (
        *("invoke k a1", "nothing k a1", "invoke k a2", "start k r1", "end k r1 v", "ok k a2 v"),
    ),
    "unknown becomes known": (
        *("invoke k a1", "start k r1", "unknown k a1", "invoke k a2", "end k r1 v", "ok k a2 v"),
    ),
    "two at once, one refused": (
        *("invoke k a1", "invoke k a2", "nothing k a2", "start k r1", "end k r1 v", "ok k a1 v"),
    ),
    "an idempotent tool runs again": (
        *("invoke again a1", "start again r1", "unknown again a1"),
        *("invoke again a2", "start again r2", "end again r2 w", "ok again a2 w"),
    ),
    "an end that was lost with the database": (
        *("fault database", "invoke k a1", "start k r1", "end k r1 v", "ok k a1 v"),
        *("healed database", "invoke k a2", "unknown k a2"),
    ),
    "one line for two readers": (
        *("accepted e1", "told a 1 e1", "told b 1 e1", "told a 2 e2"),
        *("line - 1 e1 +c", "line - 2 e2 -c", "told b 2 e2"),
    ),
    "a job that fires each minute": ("fired j 7", "fired k 8", "fired j 8"),
}
FORGED = {
    "run twice": (
        "I1",
        *("invoke k a1", "start k r1", "end k r1 v", "start k r2", "end k r2 w", "ok k a1 v"),
    ),
    "a result of nobody": ("I2", "invoke k a1", "start k r1", "ok k a1 v", "end k r1 v"),
    "two results": (
        "I2",
        *("invoke k a1", "start k r1", "end k r1 v", "ok k a1 v"),
        *("invoke k a2", "end k r1 w", "ok k a2 w"),
    ),
    "two results of an idempotent tool": (
        "I2",
        *("invoke again a1", "start again r1", "end again r1 v", "ok again a1 v"),
        *("invoke again a2", "start again r2", "end again r2 w", "ok again a2 w"),
    ),
    "nothing run, and run afterwards": ("I3", "invoke k a1", "nothing k a1", "start k r1"),
    "run before anybody asked": ("I3", "start k r1", "invoke k a1"),
    "known becomes unknown": (
        "I4",
        *("invoke k a1", "start k r1", "end k r1 v", "ok k a1 v"),
        *("invoke k a2", "unknown k a2"),
    ),
    "the same after an outage that had nothing to do with it": (
        "I4",
        *("fault database", "healed database"),
        *("invoke k a1", "start k r1", "end k r1 v", "ok k a1 v"),
        *("invoke k a2", "unknown k a2"),
    ),
    "a line with a gap": ("gaps", "line - 1 e1", "line - 3 e2"),
    "an event that is there twice": ("two positions", "line - 1 e1", "line - 2 e1"),
    "an event that was lost": ("not in the line", "accepted e2", "line - 1 e1"),
    "a call that ends twice": ("more often", "line - 1 e1 +c", "line - 2 e2 -c", "line - 3 e3 -c"),
    "an end before its request": ("more often", "line - 1 e1 -c", "line - 2 e2 +c"),
    "a reader who is told another event": ("something else", "told a 1 e2", "line - 1 e1"),
    "a reader who misses one": (
        "told 3 after 1",
        *("told a 1 e1", "told a 3 e3", "line - 1 e1", "line - 2 e2", "line - 3 e3"),
    ),
    "a reader who is told one twice": ("told 1 after 1", "told a 1 e", "told a 1 e", "line - 1 e"),
    "a reader who does not hear the end": ("the end", "told a 1 e", "line - 1 e", "line - 2 f"),
    "a job that fires twice": ("fired twice", "fired j 7", "fired j 7"),
    "a job that misses a minute": ("not fired", "fired j 7", "fired j 9"),
    "a request that began twice": (
        "begun twice",
        *("invoke again a1", "start again r1", "start again r1"),
    ),
}


class CheckHistoryTest(unittest.TestCase):
    def test_what_may_happen_is_accepted(self) -> None:
        for name, lines in GOOD.items():
            with self.subTest(name):
                self.assertEqual(check(history(*lines)), [])

    def test_each_forged_history_is_rejected(self) -> None:
        for name, (why, *lines) in FORGED.items():
            with self.subTest(name):
                found = check(history(*lines))
                self.assertTrue(any(why in one for one in found), found)


if __name__ == "__main__":
    unittest.main()
