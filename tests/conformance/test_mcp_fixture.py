"""The MCP fixture and the MCP client of tests/harness, against each other: so that a failure with
a gateway between them points at the gateway. Numbers are rows of docs/protocols/mcp.md,
section 10."""

from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))
from mcp_client import Client, LegacyClient, McpError, ModernClient  # noqa: E402
from mcp_fixture import Fixture, stdio  # noqa: E402
from support.wait import eventually  # noqa: E402

ALL = {"elicitation": {}, "sampling": {}, "roots": {}}
TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
WAYS = (
    ("legacy", "stdio"),
    ("legacy", "http"),
    ("legacy", "sse"),
    ("modern", "stdio"),
    ("modern", "http"),
)
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


def sampled(words: str) -> dict[str, Any]:
    content = {"type": "text", "text": words}
    return {"role": "assistant", "content": content, "model": "none", "stopReason": "endTurn"}


def accept(params: dict[str, Any]) -> dict[str, Any]:
    """A person who fills in every field."""
    words = {"string": "Ada", "boolean": True, "integer": 1, "number": 0.5, "array": []}
    fields = params.get("requestedSchema", {}).get("properties", {})
    content = {name: words[field["type"]] for name, field in fields.items()}
    return {"action": "accept", "content": content}


ANSWERS = {
    "elicitation/create": accept,
    "sampling/createMessage": lambda params: sampled("Paris"),
    "roots/list": lambda params: {"roots": [{"uri": "file:///home"}]},
}


def text(result: dict[str, Any]) -> str:
    return result["content"][0]["text"]


class FixtureCase(unittest.TestCase):
    """The tests of a class share their servers, save on stdio."""

    servers: ClassVar[dict[tuple[str, ...], Fixture]]

    @classmethod
    def setUpClass(cls) -> None:
        cls.servers = {}

    @classmethod
    def server(cls, transport: str, *options: str) -> Fixture:
        key = (transport, *options)
        if key not in cls.servers:
            cls.servers[key] = cls.enterClassContext(Fixture(*options, transport=transport))
        return cls.servers[key]

    def open(
        self,
        era: str,
        transport: str = "http",
        *options: str,
        capabilities: dict[str, Any] | None = None,
        version: str = REVISIONS[-1],
    ) -> Client:
        """A client, which ends with the test."""
        words = ("--era", era, *options)
        if transport == "stdio":
            link: Any = stdio(*words)
        else:
            link = self.server(transport, *words).link()
        whole = ALL if capabilities is None else capabilities
        client: Client
        if era == "modern":
            client = ModernClient(link, whole)
        else:
            client = LegacyClient(link, whole, version)
        client.answers = dict(ANSWERS)
        return self.enterContext(client)


class FourWaysTest(FixtureCase):
    """What is the same over every transport and in both eras."""

    def test_contents_are_those_that_the_suite_looks_for(self) -> None:
        for era, transport in WAYS:
            with self.subTest(era=era, transport=transport):
                client = self.open(era, transport)
                self.assertIn("test_simple_text", client.tools())
                simple = client.call("test_simple_text")
                self.assertEqual(text(simple), "This is a simple text response for testing.")
                self.assertTrue(client.call("test_error_handling")["isError"])
                self.assertEqual(
                    client.call("greet", {"name": "Ada"})["content"][0]["text"], "Hello, Ada!"
                )
                read = client.request("resources/read", {"uri": "test://template/7/data"})
                self.assertEqual(json.loads(read["contents"][0]["text"])["id"], "7")
                prompt = client.request("prompts/get", {"name": "test_simple_prompt"})
                self.assertEqual(prompt["messages"][0]["role"], "user")

    def test_the_person_the_model_and_the_roots_are_asked(self) -> None:
        for era, transport in WAYS:
            with self.subTest(era=era, transport=transport):
                client = self.open(era, transport)
                asked = client.call("test_elicitation", {"message": "Who?"})
                self.assertIn('"username":"Ada"', text(asked))
                said = client.call("test_sampling", {"prompt": "Capital?"})
                self.assertEqual(text(said), "LLM response: Paris")
                several = client.call("test_input_required_result_multiple_inputs")
                self.assertEqual(text(several), "Paris, Ada: 1 roots")
                rounds = client.call("test_input_required_result_multi_round")
                self.assertEqual(text(rounds), "Ada likes Ada")

    def test_progress_needs_a_token_and_rises(self) -> None:
        for era, transport in WAYS:
            with self.subTest(era=era, transport=transport):
                client = self.open(era, transport)
                client.call("test_tool_with_progress", progressToken="t")
                done = [
                    one["params"]["progress"]
                    for one in client.notifications
                    if one["method"] == "notifications/progress"
                ]
                self.assertEqual(done, [0, 50, 100])
                client.notifications.clear()
                client.call("test_tool_with_progress")
                self.assertEqual(client.notifications, [])

    def test_unknown_names_are_refused_by_the_code_of_the_era(self) -> None:
        for era, code in (("legacy", -32002), ("modern", -32602)):
            client = self.open(era)
            with self.assertRaises(McpError) as refused:
                client.request("resources/read", {"uri": "test://nothing"})
            self.assertEqual(refused.exception.code, code)
            self.assertEqual(refused.exception.data, {"uri": "test://nothing"})
            with self.assertRaises(McpError) as refused:
                client.call("nothing")
            self.assertEqual(refused.exception.code, -32602)

    def test_pages_give_each_entry_once(self) -> None:
        for era in ("legacy", "modern"):
            whole = sorted(self.open(era).tools())
            paged = self.open(era, "http", "--page-size", "3")
            names = [one["name"] for one in paged.pages("tools/list", "tools")]
            self.assertEqual(names, whole)
            with self.assertRaises(McpError) as refused:
                paged.request("tools/list", {"cursor": "nonsense"})
            self.assertEqual(refused.exception.code, -32602)

    def test_each_era_refuses_the_other(self) -> None:
        for transport, status in (("http", 400), ("stdio", 200)):
            link = self.open("legacy", transport).link
            with self.assertRaises(McpError) as refused:
                ModernClient(link).request("server/discover")
            self.assertEqual(refused.exception.status, status)
        modern = self.open("modern").link
        with self.assertRaises(McpError) as refused:
            LegacyClient(modern).open()
        self.assertEqual(refused.exception.code, -32602)


class LegacyTest(FixtureCase):
    def test_each_revision_is_spoken_and_gets_no_newer_members(self) -> None:
        for version in REVISIONS:
            client = self.open("legacy", version=version)
            assert isinstance(client, LegacyClient)
            self.assertEqual(client.opened["protocolVersion"], version)
            counting = client.tools()["test_count"]
            self.assertEqual("annotations" in counting, version >= "2025-03-26")
            self.assertEqual("outputSchema" in counting, version >= "2025-06-18")
            sound = client.call("test_audio_content")["content"][0]["type"]
            self.assertEqual(sound, "audio" if version >= "2025-03-26" else "text")
        older = self.open("legacy", "http", "--newest", "2025-03-26")
        assert isinstance(older, LegacyClient)
        self.assertEqual(older.opened["protocolVersion"], "2025-03-26")

    def test_a_stream_that_was_cut_is_resumed(self) -> None:
        client = self.open("legacy")
        result = client.call("test_reconnection")
        self.assertEqual(text(result), "Reconnection test completed successfully")

    def test_only_a_session_of_2025_03_26_takes_batches(self) -> None:
        batch = [{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in ("a", 2)]
        client = self.open("legacy", version="2025-03-26")
        assert isinstance(client, LegacyClient)
        answers = list(client.link.send(batch, client.session).messages())
        self.assertEqual([one["id"] for one in answers], ["a", 2])
        client = self.open("legacy")
        assert isinstance(client, LegacyClient)
        refused = client.link.send(batch, client.session)
        self.assertEqual(refused.status, 400)
        refused.close()

    def test_changes_go_to_the_get_stream(self) -> None:
        for transport in ("http", "stdio", "sse"):
            with self.subTest(transport=transport):
                client = self.open("legacy", transport)
                assert isinstance(client, LegacyClient)
                if transport == "http":
                    client.stream()
                client.call("test_trigger_tool_change")
                client.wait_for("notifications/tools/list_changed")
                self.assertIn("test_extra_tool", client.tools())
                client.request("resources/subscribe", {"uri": "test://watched-resource"})
                client.call("test_update_resource")
                told = client.wait_for("notifications/resources/updated")
                self.assertEqual(told["params"]["uri"], "test://watched-resource")

    def test_logs_come_at_the_level_that_was_set(self) -> None:
        client = self.open("legacy")
        client.call("test_tool_with_logging")
        self.assertEqual(len(client.notifications), 3)
        client.request("logging/setLevel", {"level": "error"})
        client.call("test_tool_with_logging")
        self.assertEqual(len(client.notifications), 3)

    def test_an_ended_session_is_not_found(self) -> None:
        client = self.open("legacy")
        assert isinstance(client, LegacyClient)
        self.assertEqual(client.end(), 204)
        with self.assertRaises(McpError) as refused:
            client.request("ping")
        self.assertEqual(refused.exception.status, 404)

    def test_a_cancelled_call_gets_no_answer(self) -> None:
        client = self.open("legacy", "stdio")
        assert isinstance(client, LegacyClient)
        token = {"_meta": {"progressToken": 1}}
        sleep = {"name": "test_sleep", "arguments": {"seconds": 30}, **token}
        client.start("tools/call", sleep)
        client.wait_for("notifications/progress")
        client.notify("notifications/cancelled", {"requestId": client._last_id})
        self.wait_for_cancellation(client)

    def wait_for_cancellation(self, client: Client) -> None:
        def count() -> int:
            return client.call("test_cancelled")["structuredContent"]["count"]

        eventually(count, "the call is cancelled")

    def test_a_task_of_2025_11_25_is_asked_for(self) -> None:
        client = self.open("legacy")
        params = {"name": "slow_compute", "arguments": {"seconds": 0}, "task": {"ttl": 60000}}
        task = client.request("tools/call", params)["task"]
        result = client.request("tasks/result", {"taskId": task["taskId"]})
        self.assertIn("Computed", text(result))
        state = client.request("tasks/get", {"taskId": task["taskId"]})
        self.assertEqual(state["status"], "completed")


class ModernTest(FixtureCase):
    def open_modern(self, transport: str = "http", *options: str, **more: Any) -> ModernClient:
        client = self.open("modern", transport, *options, **more)
        assert isinstance(client, ModernClient)
        return client

    def refusal(
        self, client: ModernClient, method: str, params: dict[str, Any], **more: Any
    ) -> tuple[int | None, int]:
        """The code and HTTP status of the error that this gets."""
        with self.assertRaises(McpError) as refused:
            client.finish(client.start(method, params, **more))
        return refused.exception.code, refused.exception.status

    def test_headers_have_to_repeat_the_body(self) -> None:
        client = self.open_modern()
        call = {"name": "greet", "arguments": {"name": "Ada"}}
        for headers in (
            {"Mcp-Name": "other"},
            {"Mcp-Method": "TOOLS/CALL"},
            {"MCP-Protocol-Version": "2025-11-25"},
            {"Mcp-Name": "=?base64?Z3J?="},
        ):
            refused = self.refusal(client, "tools/call", call, headers=headers)
            self.assertEqual(refused, (-32020, 400), headers)
        encoded = client.start("tools/call", call, headers={"Mcp-Name": "=?base64?Z3JlZXQ=?="})
        self.assertEqual(text(client.finish(encoded)), "Hello, Ada!")

    def test_parameters_travel_in_headers_too(self) -> None:
        client = self.open_modern()
        client.tools()
        arguments = {"region": " Ä", "count": 42, "urgent": False, "place": {"city": "Bonn"}}
        self.assertEqual(json.loads(text(client.call("test_custom_header", arguments))), arguments)
        call = {"name": "test_custom_header", "arguments": {"count": 42}}
        fine = client.start("tools/call", call, headers={"Mcp-Param-Count": "42.0"})
        client.finish(fine)
        bad = {"Mcp-Param-Count": "43"}
        self.assertEqual(self.refusal(client, "tools/call", call, headers=bad), (-32020, 400))

    def test_versions_and_capabilities_are_checked(self) -> None:
        client = self.open_modern(capabilities={})
        version = {"io.modelcontextprotocol/protocolVersion": "2999-01-01"}
        headers = {"MCP-Protocol-Version": "2999-01-01"}
        refused = self.refusal(client, "server/discover", {}, meta=version, headers=headers)
        self.assertEqual(refused, (-32022, 400))
        call = {"name": "test_missing_capability"}
        self.assertEqual(self.refusal(client, "tools/call", call), (-32021, 400))
        self.assertEqual(self.refusal(client, "ping", {}), (-32601, 404))

    def test_a_changed_state_is_refused(self) -> None:
        client = self.open_modern()
        call = {"name": "test_input_required_result_tampered_state"}
        first = client.request("tools/call", call)
        given = client.responses(first["inputRequests"])
        again = {**call, "inputResponses": given, "requestState": first["requestState"] + "x"}
        self.assertEqual(self.refusal(client, "tools/call", again)[0], -32602)
        self.assertEqual(
            self.refusal(client, "tools/call", {**call, "inputResponses": given})[0], -32602
        )

    def test_listeners_are_told_what_they_asked_for(self) -> None:
        for transport in ("http", "stdio"):
            with self.subTest(transport=transport):
                client = self.open_modern(transport)
                uris = ["test://watched-resource", "test://nothing"]
                listening = client.listen(toolsListChanged=True, resourceSubscriptions=uris)
                messages = listening.messages()
                honoured = next(messages)["params"]["notifications"]
                self.assertEqual(
                    honoured, {"toolsListChanged": True, "resourceSubscriptions": uris[:1]}
                )
                client.call("test_trigger_prompt_change")
                client.call("test_update_resource")
                self.assertEqual(next(messages)["method"], "notifications/resources/updated")
                client.call("test_trigger_tool_change")
                told = next(messages)
                self.assertEqual(told["method"], "notifications/tools/list_changed")
                tag = told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
                self.assertEqual(tag, 1)
                listening.close()

    def test_tasks_ask_end_and_are_cancelled(self) -> None:
        client = self.open_modern(capabilities={**ALL, **TASKS})
        deleted = client.call("confirm_delete", {"filename": "a"})
        self.assertEqual(text(deleted), "Deleted a")
        self.assertEqual(text(client.call("multi_input")), "Ada and Ada")
        self.assertIn("Ada", text(client.call("test_tool_with_task")))
        self.assertTrue(client.call("failing_job")["isError"])
        call = {"name": "slow_compute", "arguments": {"seconds": 60}}
        task = client.request("tools/call", call)["taskId"]
        client.request("tasks/cancel", {"taskId": task})
        state = client.request("tasks/get", {"taskId": task})
        self.assertEqual(state["status"], "cancelled")
        plain = self.open_modern()
        self.assertEqual(self.refusal(plain, "tools/call", {"name": "failing_job"}), (-32021, 400))

    def test_closing_the_connection_cancels_the_call(self) -> None:
        client = self.open_modern()
        call = {"name": "test_sleep", "arguments": {"seconds": 30}}
        client.start("tools/call", call, meta={"progressToken": 1}).close()

        def count() -> int:
            return client.call("test_cancelled")["structuredContent"]["count"]

        eventually(count, "the call is cancelled")

    def test_every_result_says_who_and_what_it_is(self) -> None:
        client = self.open_modern()
        for method in ("server/discover", "tools/list", "resources/list", "prompts/list"):
            result = client.request(method)
            self.assertEqual(result["resultType"], "complete")
            self.assertEqual(result["cacheScope"], "private")
            self.assertIn("io.modelcontextprotocol/serverInfo", result["_meta"])


if __name__ == "__main__":
    unittest.main()
