"""A few lines of HTTP over TCP or a Unix socket, for set-up, metrics and the cold start; the load
itself is C++."""

import http.client
import re
import socket


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=5):
        super().__init__("localhost", timeout=timeout)
        self._path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def request(connection, method, path, body=None):
    """(status, body as text)."""
    connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
    answer = connection.getresponse()
    return answer.status, answer.read().decode("utf-8", "replace")


def metrics(socket_path):
    """{name with labels: value} of the admin socket's /metrics, and the set of names that are
    gauges."""
    connection = UnixConnection(socket_path)
    try:
        _, text = request(connection, "GET", "/metrics")
    finally:
        connection.close()
    gauges = set(re.findall(r"^# TYPE (\S+) gauge", text, re.M))
    values = {}
    for line in text.splitlines():
        match = re.match(r"([a-zA-Z_:][\w:]*(?:\{.*\})?) ([0-9.eE+-]+)", line)
        if match:
            values[match.group(1)] = float(match.group(2))
    return values, gauges
