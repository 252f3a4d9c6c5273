"""Breadth-first search of all states of a model, so that the first trace of a fault is a shortest
one."""

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

State = Any


@dataclass
class Found:
    states: int = 0
    complete: bool = True  # every state that can be reached was looked at
    seconds: float = 0.0
    faults: dict[str, list[str]] = field(default_factory=dict)  # what is broken → the steps there

    def text(self) -> str:
        lines = [
            f'{self.states} states, {self.seconds:.0f} s, {"complete" if self.complete else "CUT"}'
        ]
        for fault, steps in self.faults.items():
            lines.append(f'  VIOLATION {fault}')
            lines += [f'     {number}. {step}' for number, step in enumerate(steps, 1)]
        return '\n'.join(lines if self.faults else lines + ['  ok'])


def put(entries: tuple, key: Any, value: Any) -> tuple:
    """`entries`, a sorted tuple of pairs (a dictionary that can be hashed), with this one."""
    return tuple(sorted([entry for entry in entries if entry[0] != key] + [(key, value)]))


def get(entries: tuple, key: Any) -> Any:
    return next((value for name, value in entries if name == key), None)


def search(
    start: State,
    steps: Callable[[State], Iterable[tuple[str, State]]],
    broken: Callable[[State], str | None],
    most_states: int = 3_000_000,
    until_a_fault: bool = False,
) -> Found:
    """A state that is broken is not gone on from. Without `until_a_fault` it looks for the first
    trace of each kind of fault."""
    begun = time.monotonic()
    came_from: dict[State, tuple[State, str] | None] = {start: None}
    waiting = deque([start])
    found = Found()
    while waiting and not (until_a_fault and found.faults):
        if len(came_from) > most_states:
            found.complete = False
            break
        state = waiting.popleft()
        if fault := broken(state):
            if fault not in found.faults:
                found.faults[fault] = trace(came_from, state)
            continue
        for label, following in steps(state):
            if following not in came_from:
                came_from[following] = (state, label)
                waiting.append(following)
    found.states = len(came_from)
    found.seconds = time.monotonic() - begun
    return found


def trace(came_from: dict[State, tuple[State, str] | None], state: State) -> list[str]:
    steps = []
    while (before := came_from[state]) is not None:
        state, label = before
        steps.append(label)
    return steps[::-1]
