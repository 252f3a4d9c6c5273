"""What the suite's server scenarios are pointed at: the fixture itself, or a gateway with the
fixture behind it."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(FOLDER.parents[1] / "harness"), str(FOLDER.parent)]
from mcp_client import McpError, ModernClient  # noqa: E402
from mcp_fixture import Fixture, command  # noqa: E402
from mcp_links import HttpLink, HttpRefusal  # noqa: E402
from support.gateway import Gateway  # noqa: E402

from . import hosts  # noqa: E402
from .suite import ROOT, Unusable  # noqa: E402

OWN_TOOLS = {"list_devices"}  #: of the gateway itself
PATIENCE = 20.0

#: way → (era of the upstream, its transport)
WAYS: Mapping[str, tuple[str, str]] = {
    "stdio-modern": ("modern", "stdio"),
    "http-modern": ("modern", "http"),
    "stdio-legacy": ("legacy", "stdio"),
    "http-legacy": ("legacy", "http"),
}
#: ways whose source is no MCP server: only what that can express is expected to pass.
HOSTS: Mapping[str, Any] = {"device": hosts.on_device, "rtp-host": hosts.on_rtp_host}


def baseline_of(way: str) -> str:
    """The file that says what this way is expected to fail."""
    return "baseline.yml" if way in WAYS else f"baseline.{way}.yml"


@contextlib.contextmanager
def fixture() -> Iterator[str]:
    """The URL of a fixture of both eras."""
    with Fixture() as server:
        yield f"http://localhost:{server.port}/mcp"


def find_gateway() -> str:
    """The executable: $CRAB_BIN, else that of the preset `dev`."""
    path = os.environ.get("CRAB_BIN") or str(ROOT / "build" / "dev" / "crab")
    if shutil.which(path) is None:
        raise Unusable(f"{path} is no executable; build crab, or name one in CRAB_BIN")
    os.environ["CRAB_BIN"] = path
    return path


def gateway_config(server: Mapping[str, Any], mcp: Mapping[str, Any] = {}) -> dict[str, Any]:
    """A gateway with this one MCP server behind it, whose tools keep their names; `mcp` is more of
    that section."""
    return {
        "listen": {"open_loopback": True},
        # what the suite wants to be a task takes half a second or more, everything else less
        "mcp": {
            "enabled": True,
            "task_after": "250ms",
            "servers": {"fixture": dict(server)},
            **mcp,
        },
    }


def await_upstream(gateway: Gateway) -> str:
    """Waits until the gateway knows what its one upstream is, or that it cannot; its state then.
    Errors: Unusable when it finds out neither."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        answer = gateway.admin_request("GET", "/v1/mcp/servers")
        if answer.status != 200:
            raise Unusable(f"this crab does not know MCP servers: {answer.status} {answer.body!r}")
        (server,) = answer.json()["servers"]
        if server["state"] in ("ready", "failing"):
            return server["state"]
        time.sleep(0.05)
    raise Unusable(f"the upstream is still {server['state']} after {PATIENCE:g} s")


def open_gateway(server: Mapping[str, Any], mcp: Mapping[str, Any] = {}) -> Gateway:
    """Not started yet; a context manager."""
    find_gateway()
    return Gateway(gateway_config(server, mcp))


def url_of(gateway: Gateway) -> str:
    """Where the gateway serves MCP. Errors: Unusable when it does not."""
    url = f"http://localhost:{gateway.public[1]}/mcp"
    try:
        ModernClient(HttpLink(url)).request("server/discover")
    except (HttpRefusal, McpError) as error:
        raise Unusable(f"this crab does not serve MCP at {url}: {error}") from None
    return url


@contextlib.contextmanager
def behind_gateway(way: str) -> Iterator[str]:
    """The URL of a gateway with the fixture behind it in this way. Its state is new."""
    if way in HOSTS:
        find_gateway()
        config = {"listen": {"open_loopback": True}, "mcp": {"enabled": True}}
        with HOSTS[way](config) as gateway:
            yield url_of(gateway)
        return
    era, transport = WAYS[way]
    ask = {"ask": {"elicitation": True, "sampling": True, "roots": True}}
    with contextlib.ExitStack() as stack:
        if transport == "http":
            server = stack.enter_context(Fixture("--era", era))
            upstream: dict[str, Any] = {"url": server.url}
        else:
            program, *words = command("--era", era)
            upstream = {"command": program, "args": words, "interactive": True}
        # streams that are closed to be resumed: server-sse-polling
        options: dict[str, Any] = {"poll_after": "1s"}
        if (era, transport) == ("legacy", "stdio"):
            # A child is started for a client that declares something else. Until then its answer
            # is no stream, or the status of an error in it would depend on the machine.
            options["stream_after"] = "2s"
            # A question that nobody answers holds its child, of which a principal has eight; the
            # suite leaves many behind.
            options["input_wait"] = "3s"
            options["task_after"] = "600ms"  # longer than a child takes to start
        try:
            entry = {**upstream, "era": era, **ask}
            gateway = stack.enter_context(open_gateway(entry, options))
        except AssertionError as error:
            raise Unusable(f"crab does not start with mcp.servers: {error}") from None
        await_upstream(gateway)
        yield url_of(gateway)


def new_folder() -> Path:
    """For the results of one run; it stays, so that they can be read."""
    return Path(tempfile.mkdtemp(prefix="crab-mcp-suite-"))
