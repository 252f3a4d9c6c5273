"""Bridging of MCP: clients of both eras, upstreams of both eras on both transports, docs section 5.
In a cell's name the client comes first: `modern, legacy_http`."""

from __future__ import annotations

import contextlib
import tempfile
import time
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.mcp import ERAS, McpCase, McpError, Message, await_state, child, text_of
from support.wait import eventually

PLAIN = "plain-stdio"  # its children are not interactive
SOURCES = ("legacy-http", "legacy-stdio", "modern-http", "modern-stdio")
WATCHED = "test://watched-resource"


class BridgingCase(McpCase):
    @classmethod
    def servers(cls) -> dict[str, dict[str, Any]]:
        cls.record = Path(cls.enterClassContext(tempfile.TemporaryDirectory())) / "legacy-stdio"
        record = ("--record", str(cls.record))
        return {
            "legacy-http": cls.on_http("--era", "legacy"),
            "legacy-stdio": child("--era", "legacy", *record, interactive=True),
            PLAIN: child("--era", "legacy"),
            "modern-http": cls.on_http("--era", "modern"),
            "modern-stdio": child("--era", "modern"),
        }

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        for source in (*SOURCES, PLAIN):
            await_state(cls.gateway, source, "ready")

    @contextlib.contextmanager
    def cell(self, era: str, source: str) -> Iterator[tuple[Any, str]]:
        """A subtest with a client of this era, and what names of this upstream begin with."""
        with self.subTest(f"{era}, {source}"), contextlib.ExitStack() as stack:
            client = self.client(era)
            stack.callback(client.close)
            yield client, f"{source}__"


def cells(*sources: str, eras: tuple[str, ...] = ERAS) -> list[tuple[str, str]]:
    """Eras of clients and upstreams; all of them, unless some are named."""
    return [(era, source) for era in eras for source in sources or SOURCES]


class AskingTest(BridgingCase):
    def test_a_form_is_shown_with_its_source_and_its_answer_arrives(self) -> None:
        for era, source in cells():
            with self.cell(era, source) as (client, at):
                asked: list[Message] = []

                def answer(params: Message, asked: list[Message] = asked) -> Message:
                    asked.append(params)
                    return {"action": "accept", "content": {"username": "ada", "email": "a@b.c"}}

                client.answers["elicitation/create"] = answer
                said = text_of(client.call(at + "test_elicitation", {"message": "Who?"}))
                self.assertIn("action: accept", said)
                self.assertIn('"username":"ada"', said)
                self.assertEqual(asked[0]["message"], f"[{at[:-2]}] Who?")
                self.assertIn("username", asked[0]["requestedSchema"]["properties"])

    def test_who_declines_is_told_so(self) -> None:
        for era, source in cells():
            with self.cell(era, source) as (client, at):
                for action in ("decline", "cancel"):
                    client.answers["elicitation/create"] = lambda _, action=action: {
                        "action": action
                    }
                    said = text_of(client.call(at + "test_elicitation", {"message": "Who?"}))
                    self.assertIn(f"action: {action}", said)

    def test_models_and_roots_are_asked_for(self) -> None:
        for era, source in cells():
            with self.cell(era, source) as (client, at):
                client.answers["sampling/createMessage"] = lambda params: {
                    "role": "assistant",
                    "content": {
                        "type": "text",
                        "text": params["messages"][0]["content"]["text"] * 2,
                    },
                    "model": "echo",
                    "stopReason": "endTurn",
                }
                client.answers["roots/list"] = lambda _: {"roots": [{"uri": "file:///home/ada"}]}
                said = text_of(client.call(at + "test_sampling", {"prompt": "ab"}))
                self.assertEqual(said, "LLM response: abab")
                said = text_of(client.call(at + "test_input_required_result_list_roots"))
                self.assertEqual(said, 'Roots: ["file:///home/ada"]')

    def test_rounds_follow_each_other(self) -> None:
        for era, source in cells():
            with self.cell(era, source) as (client, at):

                def answer(params: Message) -> Message:
                    word = "name" if "name" in params["requestedSchema"]["properties"] else "color"
                    return {"action": "accept", "content": {word: f"a {word}"}}

                client.answers["elicitation/create"] = answer
                said = text_of(client.call(at + "test_input_required_result_multi_round"))
                self.assertEqual(said, "a name likes a color")

    def test_the_eleventh_round_ends_a_call(self) -> None:
        for era, source in cells(*SOURCES[2:], eras=("legacy",)):
            with self.cell(era, source) as (client, at):
                client.answers["elicitation/create"] = lambda _: {
                    "action": "accept",
                    "content": {"name": "Ada"},
                }
                result = client.call(at + "test_endless_rounds")
                self.assertTrue(result["isError"])
                self.assertIn("10 times", text_of(result))

    def test_a_page_is_opened(self) -> None:
        for era, source in cells():
            with self.cell(era, source) as (client, at):
                asked: list[Message] = []

                def answer(params: Message, asked: list[Message] = asked) -> Message:
                    asked.append(params)
                    return {"action": "accept"}

                client.answers["elicitation/create"] = answer
                result = client.call(at + "test_url_elicitation")
                self.assertEqual(text_of(result), "Authorized")
                self.assertEqual(asked[0]["mode"], "url")
                self.assertEqual(asked[0]["url"], "https://fixture.example/authorize")

    def test_a_page_that_is_required_first(self) -> None:
        for era, source in cells():
            with self.cell(era, source) as (client, at):
                key = {"key": self.gateway.unique("page")}
                client.answers["elicitation/create"] = lambda _: {"action": "accept"}
                if at.startswith("legacy") and not era == "modern":
                    with self.assertRaises(McpError) as refused:
                        client.call(at + "test_url_required", key)
                    self.assertEqual(refused.exception.code, -32042)
                    self.assertEqual(
                        refused.exception.data["elicitations"][0]["url"],
                        "https://fixture.example/authorize",
                    )
                self.assertEqual(text_of(client.call(at + "test_url_required", key)), "Authorized")

    def test_a_client_that_cannot_be_asked(self) -> None:
        for era, source in cells():
            with self.subTest(f"{era}, {source}"):
                client = self.client(era, {})
                try:
                    result = client.call(f"{source}__test_elicitation", {"message": "Who?"})
                except McpError as error:
                    self.assertEqual((era, error.code), ("modern", -32021))
                    self.assertIn("elicitation", error.data["requiredCapabilities"])
                else:
                    self.assertTrue(result["isError"])
                    self.assertIn("elicitation", text_of(result))

    def test_an_upstream_hears_what_its_client_can_do_if_it_may_ask(self) -> None:
        """93, 87."""
        for era, source in cells(*SOURCES, PLAIN):
            with self.cell(era, source) as (client, at):
                told = client.call(at + "test_seen")["structuredContent"]["capabilities"]
                asks = {"elicitation", "sampling", "roots"} & told.keys()
                self.assertEqual(
                    asks, set() if source == PLAIN else {"elicitation", "sampling", "roots"}
                )
        for era, source in cells(*SOURCES):
            with self.subTest(f"{era}, {source}, of a client that cannot be asked"):
                seen = self.client(era, {}).call(f"{source}__test_seen")["structuredContent"]
                self.assertFalse({"elicitation", "sampling", "roots"} & seen["capabilities"].keys())


class CallTest(BridgingCase):
    def test_names_of_several_sources_are_qualified(self) -> None:
        """62."""
        for era in ERAS:
            client = self.client(era)
            listed = client.tools()
            self.assertNotIn("greet", listed)
            for source in SOURCES:
                with self.subTest(f"{era}, {source}"):
                    self.assertIn(f"{source}__greet", listed)
                    said = client.call(f"{source}__greet", {"name": "Ada"})
                    self.assertEqual(text_of(said), "Hello, Ada!")
            ambiguous = client.call("greet", {"name": "Ada"})
            self.assertEqual(ambiguous["_meta"]["crab/error"]["code"], "AMBIGUOUS_TOOL")

    def test_progress_keeps_its_token_and_its_order(self) -> None:
        for era, source in cells():
            with self.cell(era, source) as (client, at):
                for token in ("a token", 7):
                    client.notifications.clear()
                    client.call(at + "test_tool_with_progress", progressToken=token)
                    told = [
                        one["params"]
                        for one in client.notifications
                        if one["method"] == "notifications/progress"
                    ]
                    self.assertEqual([one["progress"] for one in told], [0, 50, 100])
                    self.assertEqual({one["progressToken"] for one in told}, {token})

    def test_a_cancelled_call_is_cancelled_upstream(self) -> None:
        for era, source in cells():
            with self.cell(era, source) as (client, at):

                def count() -> int:
                    if at == "legacy-stdio__":  # where the next call may be in another child
                        return self.record.read_text().count('"notifications/cancelled"')
                    return client.call(at + "test_cancelled")["structuredContent"]["count"]

                before = count()
                params = {"name": at + "test_sleep", "arguments": {"seconds": 20}}
                pending = client.start("tools/call", params)
                time.sleep(0.7)
                if era == "modern":
                    pending.close()
                else:
                    client.notify("notifications/cancelled", {"requestId": client._last_id})
                eventually(lambda: count() == before + 1, "it is cancelled upstream")

    def test_log_comes_at_the_level_that_was_wanted(self) -> None:
        for era, source in cells():
            with self.cell(era, source) as (client, at):
                meta: Message = {}
                if era == "modern":
                    meta = {"io.modelcontextprotocol/logLevel": "info"}
                else:
                    client.request("logging/setLevel", {"level": "info"})
                client.call(at + "test_tool_with_logging", **meta)
                told = [
                    one for one in client.notifications if one["method"] == "notifications/message"
                ]
                self.assertEqual([one["params"]["level"] for one in told], ["info"] * 3)
                client.notifications.clear()
                if era == "modern":
                    client.call(at + "test_tool_with_logging")
                else:
                    client.request("logging/setLevel", {"level": "error"})
                    client.call(at + "test_tool_with_logging")
                self.assertEqual(client.notifications, [])

    def test_errors_have_the_clients_code(self) -> None:
        for era, source in cells():
            with self.cell(era, source) as (client, at):
                with self.assertRaises(McpError) as refused:
                    client.request("resources/read", {"uri": f"crab://{at[:-2]}/test://nowhere"})
                wanted = -32602 if era == "modern" else -32002
                self.assertEqual(refused.exception.code, wanted)
                with self.assertRaises(McpError) as refused:
                    client.request("tools/call", {"name": at + "no_such_tool", "arguments": {}})
                self.assertEqual(refused.exception.code, -32602)
                failed = client.call(at + "test_error_handling")
                self.assertTrue(failed["isError"])
                wrong = client.call(at + "greet", {"name": 7})
                self.assertTrue(wrong["isError"])
                self.assertIn("/name", text_of(wrong))

    def test_content_of_every_kind_passes(self) -> None:
        for era, source in cells():
            with self.cell(era, source) as (client, at):
                kinds = {
                    "test_image_content": "image",
                    "test_audio_content": "audio",
                    "test_embedded_resource": "resource",
                    "test_resource_link": "resource_link",
                }
                for tool, kind in kinds.items():
                    self.assertEqual(client.call(at + tool)["content"][0]["type"], kind, tool)
                structured = client.call(at + "test_structured")
                self.assertEqual(structured["structuredContent"], {"count": 3})
                self.assertEqual(text_of(structured), '{"count":3}')
                modern_only = {"resultType", "ttlMs", "cacheScope"} & structured.keys()
                self.assertEqual(modern_only, {"resultType"} if era == "modern" else set())

    def test_old_clients_get_what_they_know(self) -> None:
        for version, kinds in (
            ("2024-11-05", {"audio": "text", "resource_link": "text"}),
            ("2025-03-26", {"audio": "audio", "resource_link": "text"}),
            ("2025-06-18", {"audio": "audio", "resource_link": "resource_link"}),
        ):
            client = self.client("legacy", version=version)
            for source in SOURCES:
                with self.subTest(f"{version}, {source}"):
                    at = source + "__"
                    for tool, kind in (
                        ("test_audio_content", kinds["audio"]),
                        ("test_resource_link", kinds["resource_link"]),
                    ):
                        found = client.call(at + tool)["content"][0]["type"]
                        self.assertEqual(found, kind, tool)
                    result = client.call(at + "test_structured")
                    self.assertEqual("structuredContent" in result, version >= "2025-06-18")
                    self.assertEqual(text_of(result), '{"count":3}')


class ChangeTest(BridgingCase):
    def listened(self, client: Any, **wanted: Any) -> Any:
        """What tells of changes: a function that waits for a method."""
        if not hasattr(client, "listen"):
            client.stream()
            return lambda method: client.wait_for(method, timeout=10)
        pending = client.listen(**wanted)
        self.addCleanup(pending.close)
        messages = pending.messages()
        self.assertTrue(next(messages)["method"].endswith("acknowledged"))

        def wait(method: str) -> Message:
            for message in messages:
                if message["method"] == method:
                    return message
            raise AssertionError(f"the stream ended before {method}")

        return wait

    def test_changes_of_lists_are_told_within_two_seconds(self) -> None:
        # a child of its own per caller has lists of its own, so legacy-stdio is not among them
        for era, source in cells("legacy-http", "modern-http", "modern-stdio"):
            with self.cell(era, source) as (client, at):
                wait = self.listened(
                    client,
                    toolsListChanged=True,
                    promptsListChanged=True,
                    resourcesListChanged=True,
                )
                for kind, word in (
                    ("tool", "tools"),
                    ("prompt", "prompts"),
                    ("resource", "resources"),
                ):
                    began = time.monotonic()
                    client.call(at + f"test_trigger_{kind}_change")
                    wait(f"notifications/{word}/list_changed")
                    self.assertLess(time.monotonic() - began, 5, kind)

    def test_a_watched_resource_is_told_of_under_the_clients_uri(self) -> None:
        for era, source in cells("legacy-http", "modern-http", "modern-stdio"):
            with self.cell(era, source) as (client, at):
                uri = f"crab://{at[:-2]}/{WATCHED}"
                if era != "modern":
                    wait = self.listened(client)
                    client.request("resources/subscribe", {"uri": uri})
                else:
                    wait = self.listened(client, resourceSubscriptions=[uri])
                time.sleep(0.5)  # until the upstream has been told
                client.call(at + "test_update_resource")
                self.assertEqual(wait("notifications/resources/updated")["params"]["uri"], uri)


if __name__ == "__main__":
    unittest.main()
