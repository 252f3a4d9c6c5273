"""What `conformance_client` does in each client scenario of the suite: through a gateway whose
one upstream is the scenario's server, or, with CRAB_MCP_DIRECT, straight at that server."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from . import auth_scenarios, subjects
from .suite import Unusable

# subjects has put tests/harness on the path.
from mcp_client import Client, LegacyClient, McpError, ModernClient  # noqa: E402
from mcp_links import HttpLink, Message  # noqa: E402
from support.browser_login import LoginRefused  # noqa: E402

CAPABILITIES: Message = {"elicitation": {}, "sampling": {}, "roots": {}}
PATIENCE = 10.0
Drive = Callable[[Client, Message], None]


def accept_defaults(params: Message) -> Message:
    """A form in which nothing was changed; a field without default is confirmed."""
    fields = params.get("requestedSchema", {}).get("properties", {})
    fallback = {"boolean": True, "string": "", "integer": 0, "number": 0, "array": []}
    content = {
        name: field.get("default", fallback.get(field.get("type")))
        for name, field in fields.items()
    }
    return {"action": "accept", "content": content}


def first_tool(client: Client, _: Message) -> None:
    """Lists, and calls the first tool with two numbers, where it takes any."""
    tools = await_tools(client)
    for name, tool in list(tools.items())[:1]:
        wanted = tool["inputSchema"].get("properties", {})
        numbers = {"a": 2, "b": 3}
        client.call(name, {key: value for key, value in numbers.items() if key in wanted})


def await_tools(client: Client) -> dict[str, Message]:
    """The upstream's tools, as soon as there are any; a gateway may list before its upstream has,
    and lists tools of its own."""
    end = time.monotonic() + PATIENCE
    while True:
        tools = client.tools()
        theirs = {name: tool for name, tool in tools.items() if name not in subjects.OWN_TOOLS}
        if theirs or time.monotonic() > end:
            return theirs
        time.sleep(0.05)


def lists_only(client: Client, _: Message) -> None:
    await_tools(client)


def discover_and_list(client: Client, _: Message) -> None:
    """The scenario answers its first request with -32022 that supports what was asked for."""
    for method in ("server/discover", "server/discover", "tools/list"):
        try:
            client.request(method)
        except McpError as error:
            if error.code != -32022:
                raise


def elicitation_defaults(client: Client, _: Message) -> None:
    """The scenario's server asks on the GET stream, though a call is under way."""
    if isinstance(client, LegacyClient):
        client.stream()
    await_tools(client)
    client.call("test_client_elicitation_defaults")


def request_state(client: Client, _: Message) -> None:
    """An unrelated call comes between the rounds of the first."""
    await_tools(client)

    def answer(params: Message) -> Message:
        client.call("test_mrtr_unrelated")
        return accept_defaults(params)

    client.answers["elicitation/create"] = answer
    for name in ("test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_no_result_type"):
        client.call(name)


def standard_headers(client: Client, _: Message) -> None:
    for name in await_tools(client):
        client.call(name)
    for resource in client.pages("resources/list", "resources"):
        client.request("resources/read", {"uri": resource["uri"]})
    for prompt in client.pages("prompts/list", "prompts"):
        client.request("prompts/get", {"name": prompt["name"]})


def custom_headers(client: Client, context: Message) -> None:
    await_tools(client)
    for call in context["toolCalls"]:
        client.call(call["name"], call["arguments"])


def every_tool(client: Client, _: Message) -> None:
    """Calls all that is listed; what breaks the rules of x-mcp-header should not be."""
    sample = {"string": "a", "integer": 1, "number": 1, "boolean": True, "object": {}, "array": []}
    for name, tool in await_tools(client).items():
        properties = tool["inputSchema"].get("properties", {})
        arguments = {key: sample.get(one.get("type"), "a") for key, one in properties.items()}
        with contextlib.suppress(McpError):
            client.call(name, arguments)


def echo_schema(client: Client, _: Message) -> None:
    schema = await_tools(client)["json_schema_2020_12_tool"]["inputSchema"]
    client.call("json_schema_echo", {"schema": schema})


SCENARIOS: dict[str, Drive] = {
    "initialize": lists_only,
    "tools_call": first_tool,
    "sse-retry": first_tool,
    "elicitation-sep1034-client-defaults": elicitation_defaults,
    "request-metadata": discover_and_list,
    "sep-2322-client-request-state": request_state,
    "http-standard-headers": standard_headers,
    "http-custom-headers": custom_headers,
    "http-invalid-tool-headers": every_tool,
    "json-schema-ref-no-deref": lists_only,
    "json-schema-2020-12-preservation": echo_schema,
}


@contextlib.contextmanager
def connected(url: str, version: str) -> Iterator[Client]:
    """The client of the scenario's server, or of a gateway in front of it."""
    with contextlib.ExitStack() as stack:
        is_direct = bool(os.environ.get("CRAB_MCP_DIRECT"))
        if not is_direct:
            ask = {"elicitation": True, "sampling": True, "roots": True}
            gateway = stack.enter_context(subjects.open_gateway({"url": url, "ask": ask}))
            subjects.await_upstream(gateway)
            url = subjects.url_of(gateway)
        kind = LegacyClient if is_direct and version < "2026-07-28" else ModernClient
        client: Client = stack.enter_context(kind(HttpLink(url), CAPABILITIES))
        client.answers["elicitation/create"] = accept_defaults
        yield client


def authorized(url: str, scenario: str, context: Message) -> None:
    """A scenario of OAuth."""
    auth = auth_scenarios.server_config(scenario, url, context)
    gateway = subjects.open_gateway({"url": url, "auth": auth}, auth_scenarios.mcp_config())
    with gateway, ModernClient(HttpLink(subjects.url_of(gateway)), CAPABILITIES) as client:
        auth_scenarios.drive(client, gateway, scenario)


def main(words: list[str]) -> int:
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    version = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "2026-07-28")
    context: Any = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    is_auth = scenario.startswith("auth/") and not os.environ.get("CRAB_MCP_DIRECT")
    drive = SCENARIOS.get(scenario)
    if drive is None and not is_auth:
        print(f"conformance_client: no way through {scenario} yet", file=sys.stderr)
        return 1
    try:
        if is_auth:
            authorized(words[-1], scenario, context)
            return 0
        with connected(words[-1], version) as client:
            drive(client, context)
    except (Unusable, McpError, TimeoutError, LoginRefused) as error:
        print(f"conformance_client: {scenario}: {error}", file=sys.stderr)
        return 1
    return 0
