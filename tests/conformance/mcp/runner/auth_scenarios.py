"""The `auth/*` scenarios: their servers want a token, which a person gets by `crab mcp login`, or
the gateway by client credentials of its configuration."""

from __future__ import annotations

import http.client
import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from . import subjects

# subjects has put tests/harness and tests/conformance on the path.
from mcp_client import Client, McpError  # noqa: E402
from mcp_links import Message  # noqa: E402
from support.browser_login import LoginRefused, log_in  # noqa: E402
from support.gateway import Gateway  # noqa: E402

METADATA_DOCUMENT = "https://conformance-test.local/client-metadata.json"
PATIENCE = 20.0
SETTLED = 3.0  #: until a login is used; before that the server still says what it said before it
LOGINS = 5  #: more than crab makes for one scope


def _issuer_of(url: str) -> str:
    """Whom the scenario's server trusts; a person would know it and write it down."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port or 80, timeout=10)
    connection.request("GET", f"/.well-known/oauth-protected-resource{place.path}")
    found = json.loads(connection.getresponse().read())
    connection.close()
    return found["authorization_servers"][0]


def server_config(scenario: str, url: str, context: Mapping[str, Any]) -> Message:
    """The `auth` that a person would configure."""
    if scenario.startswith("auth/client-credentials"):
        client = {"issuer": _issuer_of(url), "client_id": context["client_id"]}
        if "private_key_pem" in context:
            file = Path(tempfile.mkdtemp(prefix="crab-mcp-key-")) / "key.pem"
            file.touch(mode=0o600)
            file.write_text(context["private_key_pem"])
            client["key_file"] = str(file)
        else:
            client["client_secret"] = context["client_secret"]
        return {"client_credentials": client}
    auth: Message = {"user": True}
    if "client_id" in context and "issuer" in context:
        names = ("issuer", "client_id", "client_secret")
        auth["client"] = {name: context[name] for name in names if name in context}
    return auth


def _wants_login(result: Message) -> bool:
    return bool(result.get("isError")) and "crab mcp login" in json.dumps(result)


def _await_tool(client: Client, gateway: Gateway) -> None:
    """Lists, and logs in as often as the server wants that for its list."""
    for _ in range(LOGINS):
        end = time.monotonic() + PATIENCE
        wanted_since = end
        while (now := time.monotonic()) < end:
            if "test-tool" in client.tools():
                return
            state = gateway.admin_request("GET", "/v1/mcp/servers").json()["servers"][0]
            wants = "crab mcp login" in state.get("error", "") and state["state"] == "failing"
            wanted_since = min(wanted_since, now) if wants else end
            if now - wanted_since > SETTLED:
                break
            time.sleep(0.05)
        else:  # a person logs in where that is asked for, not because of other failures
            raise LoginRefused("no tool is listed, and no login is asked for")
        log_in(gateway, "fixture")
    raise LoginRefused("logged in, and no tool is listed")


def drive(client: Client, gateway: Gateway, scenario: str) -> None:
    """Lists, calls `test-tool`, and logs in where that is asked for."""
    if not scenario.startswith("auth/client-credentials"):
        log_in(gateway, "fixture")
    _await_tool(client, gateway)
    for _ in range(LOGINS):
        try:
            result = client.call("test-tool")
        except McpError as error:
            if "crab mcp login" not in str(error):
                raise
        else:
            if not _wants_login(result):
                return
        log_in(gateway, "fixture")
    raise LoginRefused("logged in, and the call is refused all the same")


def mcp_config() -> Message:
    """What is on top of `mcp` in the gateway's configuration."""
    return {"client_metadata_url": METADATA_DOCUMENT}
