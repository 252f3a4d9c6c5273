"""`crab mcp login` with a browser that agrees to everything: it opens the page that is printed and
follows the redirect."""

from __future__ import annotations

import http.client
import subprocess
from urllib.parse import urlsplit

from .gateway import Gateway, program


class LoginRefused(Exception):
    """The command ended without a login; the text is what it said."""


def get(url: str) -> tuple[int, str]:
    """The status, and where it redirects to."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port or 80, timeout=10)
    try:
        connection.request("GET", f"{place.path or '/'}?{place.query}")
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers.get("Location", "")
    finally:
        connection.close()


def begin_login(gateway: Gateway, server: str, *words: str) -> tuple[subprocess.Popen[str], str]:
    """The command, which waits, and the page that it printed. Errors: LoginRefused."""
    process = subprocess.Popen(
        [program(), "mcp", "login", server, *words, "--socket", str(gateway.admin)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stdout or []:
        if line.startswith("http"):
            return process, line.strip()
    raise LoginRefused(process.communicate(timeout=20)[1])


def end_login(process: subprocess.Popen[str], typed: str = "") -> str:
    """Waits for the end of the command; what it said. Errors: LoginRefused."""
    said, errors = process.communicate(typed, timeout=20)
    if process.returncode != 0:
        raise LoginRefused(errors)
    return said


def log_in(gateway: Gateway, server: str, *words: str) -> str:
    """A whole login; what the command said at its end. Errors: LoginRefused."""
    process, page = begin_login(gateway, server, *words)
    status, back = get(page)
    if status not in (302, 303) or not back:
        process.kill()
        process.communicate()
        raise LoginRefused(f"the page answers with {status}")
    get(back)
    return end_login(process)
