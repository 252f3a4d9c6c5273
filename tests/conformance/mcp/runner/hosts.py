"""The fixture's plain tools on what is no MCP server: a WebSocket device and a host of RTP's tools,
as far as these can express them.

| scenario | device | RTP host |
|---|---|---|
| simple text, error, JSON Schema 2020-12, custom header | yes | yes, text as an object's |
| progress | yes | no: its protocol has none |
| image, audio | yes, as JSON with its bytes | no: its tools have output schemas |
| embedded resource, mixed content, log | no: results are text or JSON | no, the same |
| sampling, elicitation, roots, other input | no: devices ask nobody | no |
| resources, prompts, completion of their own | no: there are only tools | no |
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]
from fixture import content  # noqa: E402
from fixture.suite_tools import SCHEMA_2020_12  # noqa: E402
from support.device import Device, ToolFailure, tool  # noqa: E402
from support.gateway import Gateway  # noqa: E402
from support.tool_host import Request, ToolHost, host_tool  # noqa: E402

Message = dict[str, Any]
Tell = Callable[[int, int], None]  #: tells progress: done, of how much
HEADER: Message = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
}


def _simple(_: Message, __: Tell) -> str:
    return "This is a simple text response for testing."


def _picture(_: Message, __: Tell) -> Message:
    return {"mime_type": "image/png", "data_base64": content.PNG}


def _sound(_: Message, __: Tell) -> Message:
    return {"mime_type": "audio/wav", "data_base64": content.WAV}


def _fails(_: Message, __: Tell) -> str:
    raise ToolFailure("This tool intentionally returns an error for testing")


def _slowly(_: Message, tell: Tell) -> str:
    for done in (0, 50, 100):
        tell(done, 100)
        if done < 100:
            time.sleep(0.15)  # a device's progress is passed on ten times a second
    return "Tool with progress executed successfully"


def _region(args: Message, _: Tell) -> str:
    return f"region={args.get('region')}"


TOOLS: dict[str, tuple[str, Message, Callable[[Message, Tell], str | Message]]] = {
    "test_simple_text": ("A fixed line of text", {"type": "object"}, _simple),
    "test_image_content": ("A picture of one red pixel", {"type": "object"}, _picture),
    "test_audio_content": ("A millisecond of silence", {"type": "object"}, _sound),
    "test_error_handling": ("Always fails", {"type": "object"}, _fails),
    "test_tool_with_progress": ("Progress 0, 50 and 100", {"type": "object"}, _slowly),
    "json_schema_2020_12_tool": ("JSON Schema 2020-12", SCHEMA_2020_12, _simple),
    "test_custom_header": ("An argument that travels in a header too", HEADER, _region),
}


@contextlib.contextmanager
def on_device(config: Message) -> Iterator[Gateway]:
    """A gateway whose only source is a device with these tools."""
    with Gateway(config) as gateway:
        token = gateway.pair("fixture")
        with Device(gateway, token, capabilities=("tool_call_progress",)) as device:
            device.register(*(tool(name, one[1], one[0]) for name, one in TOOLS.items()))
            threading.Thread(target=_serve, args=(device,), daemon=True).start()
            yield gateway


def _serve(device: Device) -> None:
    """Answers calls until the connection ends, each in a thread of its own."""
    sending = threading.Lock()

    def send(kind: str, **fields: Any) -> None:
        with sending, contextlib.suppress(OSError):
            device.send(kind, **fields)

    def run(request: Message) -> None:
        def tell(done: int, total: int) -> None:
            send("tool_call_progress", id=request["id"], message="", progress=done, total=total)

        try:
            output = TOOLS[request["name"]][2](request["args"], tell)
        except ToolFailure as failure:
            send("tool_error", id=request["id"], error=str(failure), success=False)
        else:
            send("tool_result", id=request["id"], output=output, success=True)

    with contextlib.suppress(Exception):  # the end of the connection, whatever it looks like
        while True:
            frame = device.receive(timeout=3600)
            if frame["type"] == "tool_call_request":
                threading.Thread(target=run, args=(frame,), daemon=True).start()


def _answer(request: Request) -> None:
    try:
        given = TOOLS[request.body["tool_name"]][2](request.body["args"], lambda *_: None)
    except ToolFailure as failure:
        request.fail("TOOL_FAILED", message=str(failure))
    else:
        request.answer(result={"text": given} if isinstance(given, str) else given)


@contextlib.contextmanager
def on_rtp_host(config: Message) -> Iterator[Gateway]:
    """A gateway whose only source is a host of RTP's tool calls with these tools."""
    with tempfile.TemporaryDirectory(prefix="crab-host-") as folder:
        path = Path(folder) / "fixture"
        tools = [
            host_tool(name, description=one[0], input_schema=one[1]) for name, one in TOOLS.items()
        ]
        host = ToolHost(path, *tools)
        host.behave = _answer
        host.start()
        try:
            hosts = {"hosts": [{"name": "fixture", "unix": str(path)}]}
            with Gateway({**config, **hosts}) as gateway:
                gateway.wait_listed(*TOOLS)
                yield gateway
        finally:
            host.stop()
