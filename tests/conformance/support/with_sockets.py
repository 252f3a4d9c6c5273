"""What a service manager does for socket activation: makes sockets that listen, hands them to a
program as its descriptors from 3 on, and becomes it.

usage: with_sockets.py [NAME=]HOST:PORT|[NAME=]/PATH... -- PROGRAM [WORDS]
"""

import os
import socket
import sys

FIRST = 3


def listening(address: str) -> socket.socket:
    if address.startswith("/"):
        made = socket.socket(socket.AF_UNIX)
        previous = os.umask(0o177)
        made.bind(address)
        os.umask(previous)
    else:
        host, _, port = address.rpartition(":")
        made = socket.create_server((host, int(port)))
    made.listen(64)
    return made


def main() -> None:
    split = sys.argv.index("--")
    names, sockets = [], []
    for word in sys.argv[1:split]:
        name, _, address = word.rpartition("=")
        names.append(name or "crab.socket")
        sockets.append(listening(address))
    above = [os.dup(each.fileno()) for each in sockets]
    while min(above, default=FIRST) < FIRST + len(above):  # out of the way of where they go
        above = [os.dup(each) for each in above]
    for place, each in enumerate(above):
        os.dup2(each, FIRST + place, inheritable=True)
    os.environ |= {
        "LISTEN_PID": str(os.getpid()),
        "LISTEN_FDS": str(len(above)),
        "LISTEN_FDNAMES": ":".join(names),
    }
    os.execvp(sys.argv[split + 1], sys.argv[split + 1 :])


if __name__ == "__main__":
    main()
