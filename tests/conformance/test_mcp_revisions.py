"""Every message of the gateway is one of its revision: docs/protocols/mcp.md, section 12, row 101.
Clients of each legacy revision on upstreams of both eras, and upstreams of each legacy revision."""

from __future__ import annotations

import contextlib
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from support.device import tool
from support.mcp import (
    CheckedLink,
    HttpRefusal,
    LegacyClient,
    McpCase,
    McpError,
    Message,
    await_state,
    child,
    text_of,
)
from support.mcp_shapes import L03, L06, L11, L24, problems
from support.wait import eventually

VERSIONS = (L24, L03, L06, L11)
WATCHED = "test://watched-resource"
CALLS: tuple[tuple[str, Message], ...] = (
    ("test_every_member", {}),
    ("test_simple_text", {}),
    ("test_multiple_content_types", {}),
    ("test_audio_content", {}),
    ("test_resource_link", {}),
    ("test_error_handling", {}),
    ("test_structured", {}),
    ("test_structured_array", {}),
    ("test_structured_wrong", {}),
    ("test_tool_with_logging", {}),
    ("test_tool_with_progress", {}),
    ("test_progress_odd", {}),
    ("test_uri", {"uri": "test://static-text"}),
    ("greet", {"name": 7}),
    ("no_such_tool", {}),
    ("test_sampling", {"prompt": "ab"}),
    ("test_elicitation", {"message": "Who?"}),
    ("test_elicitation_sep1330_enums", {}),
    ("test_url_elicitation", {}),
    ("test_input_required_result_list_roots", {}),
    ("test_missing_capability", {}),
)
LISTS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}


def able(version: str) -> Message:
    """What a client of this revision declares that can do everything."""
    found: Message = {"sampling": {}, "roots": {"listChanged": True}}
    if version >= L06:
        found["elicitation"] = {"form": {}, "url": {}} if version >= L11 else {}
    return found


def person(params: Message) -> Message:
    """What an elicitation is answered with."""
    if params.get("mode") == "url":
        return {"action": "accept"}
    names = params["requestedSchema"]["properties"]
    given = {name: "a" for name in names if names[name] == {"type": "string"} | names[name]}
    return {"action": "accept", "content": given} if "username" in names else {"action": "decline"}


def model(_: Message) -> Message:
    block = {"type": "text", "text": "abab"}
    return {"role": "assistant", "content": block, "model": "echo", "stopReason": "endTurn"}


class RevisionsCase(McpCase):
    @classmethod
    def servers(cls) -> dict[str, dict[str, Any]]:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        found = {
            "legacy": cls.on_http("--era", "legacy"),
            "child": child("--era", "legacy", interactive=True),
            "modern": cls.on_http("--era", "modern"),
        }
        for version in VERSIONS:
            words = ("--era", "legacy", "--newest", version, "--record", str(cls.record(version)))
            found[f"of-{version}"] = cls.on_http(*words)
        return found

    @classmethod
    def record(cls, version: str) -> Path:
        return cls.folder / version

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        for source in cls.CONFIG["mcp"]["servers"]:
            await_state(cls.gateway, source, "ready")

    def of_version(self, version: str) -> tuple[LegacyClient, CheckedLink]:
        link = CheckedLink(self.gateway, version)
        client = LegacyClient(link, able(version), version)
        client.answers = {
            "elicitation/create": person,
            "sampling/createMessage": model,
            "roots/list": lambda _: {"roots": [{"uri": "file:///home/ada", "name": "ada"}]},
        }
        self.enterContext(client)
        self.assertEqual(client.opened["protocolVersion"], version)
        return client, link

    def use(self, client: LegacyClient, source: str) -> None:
        """All that this upstream has."""

        def ask(method: str, **params: Any) -> None:
            with contextlib.suppress(McpError, HttpRefusal):
                client.request(method, params)

        for method, key in LISTS.items():
            self.assertTrue(list(client.pages(method, key)))
        ask("logging/setLevel", level="debug")
        for name, arguments in CALLS:
            with contextlib.suppress(McpError):
                client.call(f"{source}__{name}", arguments, progressToken="p")
        at = f"crab://{source}/"
        for uri in ("static-text", "static-binary", "template/7/data", "nowhere"):
            ask("resources/read", uri=f"{at}test://{uri}")
        for name in ("simple_prompt", "prompt_with_image", "prompt_with_arguments", "none"):
            ask("prompts/get", name=f"{source}__test_{name}", arguments={"arg1": "a", "arg2": "b"})
        prompt = {"type": "ref/prompt", "name": f"{source}__test_prompt_with_arguments"}
        ask("completion/complete", ref=prompt, argument={"name": "arg1", "value": "pa"})
        ask("ping")
        ask("tools/list", cursor="nobody's")


class ClientsTest(RevisionsCase):
    def test_clients_of_each_revision_get_what_it_has(self) -> None:
        for version in VERSIONS:
            for source in ("legacy", "child", "modern"):
                with self.subTest(f"{version}, {source}"):
                    client, link = self.of_version(version)
                    self.use(client, source)
                    self.assertEqual(link.problems, [])
                    wanted = {f"result of {method}" for method in (*LISTS, "tools/call")}
                    wanted |= {"result of resources/read", "result of prompts/get"}
                    wanted |= {"error of tools/call", "error of resources/read"}
                    wanted |= {"notifications/progress", "notifications/message", "roots/list"}
                    wanted |= {"sampling/createMessage", "result of completion/complete"}
                    wanted |= {"elicitation/create"} if version >= L06 else set()
                    self.assertEqual(wanted - link.kinds, set(), "all of it came")

    def test_changes_are_told_as_each_revision_does(self) -> None:
        for version in VERSIONS:
            with self.subTest(version):
                client, link = self.of_version(version)
                client.stream()
                client.request("resources/subscribe", {"uri": f"crab://legacy/{WATCHED}"})
                for kind in ("tool", "prompt", "resource"):
                    client.call(f"legacy__test_trigger_{kind}_change")
                    client.wait_for(f"notifications/{kind}s/list_changed")
                client.call("legacy__test_update_resource")
                client.wait_for("notifications/resources/updated")
                self.assertEqual(link.problems, [])

    def test_what_devices_give_is_what_each_revision_has(self) -> None:
        name = self.unique("camera")
        device = self.open()
        device.register(tool(name))
        self.gateway.wait_listed(name)
        photo = {"mime_type": "image/png", "data_base64": "QUJD"}
        for version in VERSIONS:
            with self.subTest(version):
                client, link = self.of_version(version)
                for output in ("words", {"a": 1}, [1, 2], photo, 7):
                    pending = client.start("tools/call", {"name": name, "arguments": {}})
                    device.answer(device.next_call(name), output)
                    self.assertTrue(client.finish(pending)["content"])
                self.assertEqual(link.problems, [])
                self.assertIn("result of tools/call", link.kinds)

    def test_a_batch_is_answered_in_the_form_of_its_revision(self) -> None:
        client, link = self.of_version(L03)
        methods = ("tools/list", "ping", "prompts/list")
        batch = [{"jsonrpc": "2.0", "id": f"b{i}", "method": m} for i, m in enumerate(methods)]
        answers = list(link.send(batch, client.session).messages())
        self.assertEqual({one["id"] for one in answers}, {"b0", "b1", "b2"})
        self.assertEqual(link.problems, [])

    def test_what_is_too_new_is_seen(self) -> None:
        """Of the tables themselves: what a client of 2025-11-25 gets no older one has."""
        client, _ = self.of_version(L11)
        page = {"jsonrpc": "2.0", "id": 1, "result": client.request("tools/list")}
        for version, missing in (
            (L24, ("annotations", "title", "outputSchema", "icons", "_meta")),
            (L03, ("title", "outputSchema", "icons", "_meta")),
            (L06, ("icons",)),
            (L11, ()),
        ):
            found = problems(page, version, {1: "tools/list"})
            named = {problem.partition(":")[0].rpartition("/")[2] for problem in found}
            self.assertEqual(named, set(missing))


class UpstreamsTest(RevisionsCase):
    def test_upstreams_of_each_revision_are_asked_for_what_it_has(self) -> None:
        for version in VERSIONS:
            with self.subTest(version):
                for client in (self.of_version(L11)[0], self.client("modern")):
                    client.answers.setdefault("elicitation/create", person)
                    client.answers.setdefault("sampling/createMessage", model)
                    client.answers.setdefault("roots/list", lambda _: {"roots": []})
                    self.use(client, f"of-{version}")
                legacy = self.of_version(L11)[0]
                for verb in ("subscribe", "unsubscribe"):
                    legacy.request(f"resources/{verb}", {"uri": f"crab://of-{version}/{WATCHED}"})
                    came = lambda verb=verb: f'"resources/{verb}"' in self.recorded(version)
                    eventually(came, f"it is told to {verb}")
                self.check(version)

    def recorded(self, version: str) -> str:
        return self.record(version).read_text()

    def check(self, version: str) -> None:
        found: list[str] = []
        methods: set[str] = set()
        for line in self.recorded(version).splitlines():
            message = json.loads(line)["message"]
            method = message.get("method", "")
            methods.add(method or "answer")
            if method == "server/discover":
                continue  # the probe, which is modern
            # before its answer nothing is agreed: it offers the newest legacy revision
            spoken = L11 if method == "initialize" else version
            answers = {message.get("id"): self.question_of(message)}
            for problem in problems(message, spoken, answers):
                found.append(f"{problem} of {line[:2000]}")
        self.assertEqual(found, [])
        wanted = {"initialize", "notifications/initialized", "tools/call", "resources/read"}
        wanted |= {"prompts/get", "logging/setLevel", "answer", *LISTS}
        wanted |= {"completion/complete"} if version >= L03 else set()
        self.assertEqual(wanted - methods, set())

    @staticmethod
    def question_of(answer: Message) -> str:
        """Which request of the upstream this result is for, by what is in it."""
        result = answer.get("result", {})
        for member, method in (
            ("action", "elicitation/create"),
            ("roots", "roots/list"),
            ("model", "sampling/createMessage"),
        ):
            if member in result:
                return method
        return "ping"


if __name__ == "__main__":
    unittest.main()
