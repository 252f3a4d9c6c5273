#!/usr/bin/env python3
"""Makes the pictures of the console that the documentation shows: a gateway of its own, with two
devices, an agent, calls that went well and others, and one that waits for a person.

usage: scripts/console_pictures.py IMAGES
  CRAB_BIN names the crab executable. Exit 3: no Chromium is installed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests/conformance"), str(ROOT / "tests/support")]

from scripted_model import Answer, ScriptedModel, call  # noqa: E402

from support import browser  # noqa: E402
from support.approver import Approver  # noqa: E402
from support.browser import Browser  # noqa: E402
from support.console import Console  # noqa: E402
from support.device import Device, ToolFailure, tool  # noqa: E402
from support.gateway import Gateway, program  # noqa: E402
from tour_console import SIZES, Tour  # noqa: E402

FOLDER = Path("/tmp/crab-home")  #: what the pictures show of paths
PATH = {
    "type": "object",
    "properties": {"path": {"type": "string", "maxLength": 4096, "description": "A folder"}},
    "required": ["path"],
}
SMS = {"type": "object", "properties": {"to": {"type": "string"}, "text": {"type": "string"}}}

BUTLER = {
    "name": "butler",
    "models": ["qwen"],
    "on": [{"event": "cron.triggered", "prompt": "It is evening."}],
}


def no_permission(_: object) -> str:
    raise ToolFailure("the camera is in use by another app")


def gateway_with(model: ScriptedModel) -> Gateway:
    gateway = Gateway(
        {
            "gateway": {
                "name": "home",
                "state_dir": str(FOLDER / "state"),
                "runtime_dir": str(FOLDER / "run"),
            },
            "models": [{"model": "qwen", "provider": "scripted", "url": model.url}],
            "agents": [BUTLER],
            "built_in_hosts": {"memory": True},
            "policy": [{"principal": "*", "call": {"needs_approval": ["sms_*"]}}],
        }
    )
    shutil.rmtree(gateway.folder)
    shutil.rmtree(FOLDER, ignore_errors=True)  # of a run that failed
    FOLDER.mkdir(mode=0o700)
    gateway.folder, gateway.config_file = FOLDER, FOLDER / "gateway.yaml"
    return gateway


def devices(gateway: Gateway, stack: ExitStack) -> None:
    phone = stack.enter_context(Device(gateway, gateway.pair("phone"), device_name="Pixel 8"))
    phone.register(
        tool("take_photo", description="Takes a picture with the camera"),
        tool("sms_send", SMS, "Sends a text message"),
        tool("battery", description="How full the battery is"),
    )
    phone.serve({"take_photo": no_permission, "sms_send": lambda _: "sent",
                 "battery": lambda _: "80 %"})  # fmt: skip
    laptop = stack.enter_context(Device(gateway, gateway.pair("laptop"), device_name="Laptop"))
    laptop.register(
        tool("disk_usage", PATH, "How full the disk below a folder is", annotations={
            "readOnlyHint": True}),
        tool("uptime", description="For how long the machine has run"),
    )  # fmt: skip
    laptop.serve({"disk_usage": lambda args: f"{args['path']}: 41 % of 930 GB",
                  "uptime": lambda _: "12 days"})  # fmt: skip
    gateway.wait_listed("take_photo", "disk_usage")


def evening(gateway: Gateway, model: ScriptedModel) -> None:
    """What the agent does when nobody looks."""
    lit = call("memory_append", entries=[{"text": "the lamps are lit"}])
    model.script(Answer(calls=[lit]), Answer("The lamps are lit."))
    event_id = str(uuid.uuid4())
    event = {
        "version": "v1",
        "event_id": event_id,
        "trace_id": event_id,
        "tenant_id": "default",
        "occurred_at": "2026-01-01T00:00:00Z",
        "event_type": "cron.triggered",
        "source": {"component_type": "cron", "component_id": "cron"},
        "routing": {"agent_id": "butler", "session_id": "evening"},
        "payload": {"job_name": "evening round"},
    }
    gateway.admin_request("POST", "/v1/events", event)


def life(gateway: Gateway, model: ScriptedModel) -> None:
    """What the pictures show of calls and chats."""
    for path in ("/home", "/", "/srv"):
        gateway.call("disk_usage", {"path": path}, caller="backup")
    gateway.call("uptime", caller="ci")
    gateway.call("take_photo", caller="ci")
    gateway.call("battery", caller="ci")
    gateway.call("disk_usage", {"folder": "/"}, caller="ci")
    model.script(
        Answer(calls=[call("disk_usage", path="/home")]),
        Answer("The disk is **41 %** full; there is room for the holiday pictures."),
    )
    asked = "Is there room on the laptop for the holiday pictures?"
    subprocess.run(
        [program(), "chat", "--socket", str(gateway.admin), "--session", "holiday",
         "--once", asked], check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    evening(gateway, model)
    time.sleep(1.0)  # the audit log is written by batches; the pages read it


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1] in ("--help", "-h"):
        print(__doc__, file=sys.stderr)
        return 0 if sys.argv[1:] in (["--help"], ["-h"]) else 2
    if absent := browser.missing():
        print(absent)
        return 3
    with ExitStack() as stack:
        model = stack.enter_context(ScriptedModel())
        gateway = stack.enter_context(gateway_with(model))
        devices(gateway, stack)
        life(gateway, model)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        tour = Tour(str(gateway.admin), "", folder, Path(sys.argv[1]))
        stack.enter_context(Approver(gateway))  # so that a call waits
        tour.console = stack.enter_context(Console(gateway.admin))
        tour.page = stack.enter_context(Browser(size=SIZES["desktop"]))
        words = {"to": "+49 30 123", "text": "On my way"}
        asked = {"agent_id": "planner", "session_id": "trip"}
        waits = gateway.start_call(
            "sms_send", words, caller="ci", context=asked, timeout_ms=120_000, timeout=150
        )
        time.sleep(1.0)
        if waits.done():
            raise AssertionError(f"nothing waits for a person: {waits.result()}")
        tour.page.open(f"{tour.console.page}#in={tour.console.code}")
        tour.page.wait_text("header.top", "local/")
        print(tour.see_all_pages(("tools&tool=disk_usage", "chat&session=holiday")), "pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
