"""Reads what callgrind wrote: what each function of one thread cost, and which file it is from."""

import re
import subprocess

_FUNCTION = re.compile(r"(c?fn)=\((\d+)\)(?: (.*))?")


class Profile:
    """Of one thread. `costs` has the events by function, as the linker names it; what is inlined
    counts for the function that it is in."""

    def __init__(self, lines):
        self.events, self.costs, self._names = [], {}, {}
        self._read(lines)

    def total(self, event="Ir"):
        at = self.events.index(event)
        return sum(costs[at] for costs in self.costs.values())

    def _read(self, lines):
        costs, of_call = None, False
        for line in lines:
            if match := _FUNCTION.match(line):
                kind, number, name = match.groups()
                if name is not None:
                    self._names[number] = name.partition("'")[0]  # 'N: the Nth round of a recursion
                if kind == "fn":
                    costs = self.costs.setdefault(self._names[number], [0] * len(self.events))
            elif line.startswith("calls="):
                of_call = True  # the next line is what the called function cost
            elif line[:1].isdigit() or line[:1] in "+-*":
                if costs is not None and not of_call:
                    for i, cost in enumerate(line.split()[1:]):
                        costs[i] += int(cost)
                of_call = False
            elif line.startswith("events:"):
                self.events = line.split()[1:]


def read(folder, stem):
    """The profiles of the threads by their numbers; their files are `<stem>-NN` in `folder`."""
    profiles = {}
    for path in folder.glob(f"{stem}-*"):
        with open(path, encoding="utf-8", errors="replace") as lines:
            profiles[int(path.name.rpartition("-")[2])] = Profile(lines)
    return profiles


def files_of(program):
    """Where each function of a program with debug information is defined, by its linker's name.
    Valgrind itself cannot read what new compilers write."""
    symbols = subprocess.run(
        ["nm", "--defined-only", program], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    functions = [row.split(maxsplit=2) for row in symbols if row.split()[1] in "tTwW"]
    addresses = "\n".join("0x" + address for address, _, _ in functions)
    places = subprocess.run(
        ["llvm-addr2line-19", "-e", program],
        input=addresses,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return {name: place for (_, _, name), place in zip(functions, places, strict=True)}


def readable(names):
    """The same names as people write them."""
    done = subprocess.run(
        ["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()
