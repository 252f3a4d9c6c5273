"""What a call of /mcp comes to: arguments, results, kept artifacts, keys. Numbers are those of
docs/protocols/mcp.md, section 12."""

from __future__ import annotations

import base64
import json
import os
import unittest
from typing import Any

from support.device import tool
from support.mcp import ERAS, McpCase, McpError, Message, await_state, servers_of, text_of

SOURCES = ("legacy", "modern")
UPLOADS = ("artifacts", "tool_call_request.deadline_ms")


class CallsCase(McpCase):
    @classmethod
    def servers(cls) -> dict[str, dict[str, Any]]:
        return {
            "legacy": cls.on_http("--era", "legacy"),
            "modern": cls.on_http("--era", "modern"),
            "strict": cls.on_http("--tools", "test_structured", output="strict"),
            "strings": cls.on_http("--tools", "test_nulls", drop_nulls=False),
        }

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        for source in ("legacy", "modern", "strict", "strings"):
            await_state(cls.gateway, source, "ready")


class ArgumentTest(CallsCase):
    def test_absent_arguments_are_an_empty_object(self) -> None:
        """70."""
        for era in ERAS:
            for source in SOURCES:
                with self.subTest(f"{era}, {source}"):
                    result = self.client(era).request(
                        "tools/call", {"name": f"{source}__test_echo"}
                    )
                    self.assertEqual(text_of(result), "{}")

    def test_bad_ones_are_told_with_their_place_and_reach_nobody(self) -> None:
        """71."""
        for era in ERAS:
            for source in SOURCES:
                with self.subTest(f"{era}, {source}"):
                    client = self.client(era)
                    key = self.gateway.unique("key")
                    refused = client.call(f"{source}__test_count", {"key": key, "seconds": "x"})
                    self.assertTrue(refused["isError"])
                    self.assertIn("/seconds", text_of(refused))
                    counted = client.call(f"{source}__test_count", {"key": key})
                    self.assertEqual(counted["structuredContent"], {"count": 1})

    def test_a_null_that_its_schema_refuses_is_left_out(self) -> None:
        """72."""
        for era in ERAS:
            client = self.client(era)
            for source in SOURCES:
                with self.subTest(f"{era}, {source}"):
                    given = {"word": "a", "number": None}
                    said = client.call(f"{source}__test_nulls", given)
                    self.assertEqual(json.loads(text_of(said)), {"word": "a"})
            refused = client.call("strings__test_nulls", {"word": "a", "number": None})
            self.assertTrue(refused["isError"], "where the operator does not want that")
            self.assertIn("/number", text_of(refused))


class ResultTest(CallsCase):
    def test_schemas_pass_byte_for_byte(self) -> None:
        """66."""
        listed: list[str] = []
        for era in ERAS:
            client = self.client(era)
            for source in SOURCES:
                schema = client.tools()[f"{source}__json_schema_2020_12_tool"]["inputSchema"]
                listed.append(json.dumps(schema))
        self.assertEqual(len(set(listed)), 1)
        for keyword in ("$schema", "$defs", "$anchor", "allOf", "if", "additionalProperties"):
            self.assertIn(f'"{keyword}"', listed[0])

    def test_a_result_that_breaks_its_schema(self) -> None:
        """76."""
        for era in ERAS:
            client = self.client(era)
            for source in SOURCES:
                with self.subTest(f"{era}, {source}"):
                    said = client.call(f"{source}__test_structured_wrong")
                    self.assertFalse(said.get("isError"), "it is passed, and told in the log")
                    self.assertEqual(said["structuredContent"], {"count": "three"})
            refused = client.call("strict__test_structured_wrong")
            self.assertTrue(refused["isError"])
            self.assertIn("/count", text_of(refused))
            self.assertNotIn("structuredContent", refused)
        self.assertIn("output schema", self.gateway.log_tail(1 << 20))
        servers = servers_of(self.gateway)
        page = self.gateway.admin_request("GET", "/metrics").body.decode()
        for source, count in (("legacy", 2), ("modern", 2), ("strict", 0)):
            self.assertEqual(servers[source]["off_schema"], count)
            line = f'crab_mcp_off_schema_results_total{{server="{source}"}} {count}'
            self.assertIn(line, page.splitlines())
        shown = self.gateway.crab("mcp", "status", "legacy")
        self.assertRegex(shown, "off schema +2 results .* test_structured_wrong")

    def test_structured_content_that_is_no_object_is_for_modern_clients(self) -> None:
        """75."""
        said = self.client("modern").call("modern__test_structured_array")
        self.assertEqual(said["structuredContent"], [1, 2, 3])
        said = self.client("legacy").call("modern__test_structured_array")
        self.assertNotIn("structuredContent", said)
        self.assertEqual(text_of(said), "[1,2,3]")

    def test_a_call_of_one_key_runs_once(self) -> None:
        """83."""
        for era in ERAS:
            for source in SOURCES:
                with self.subTest(f"{era}, {source}"):
                    client = self.client(era)
                    key = self.gateway.unique("key")
                    meta = {"crab/idempotencyKey": key}
                    first = client.call(f"{source}__test_count", {"key": key}, **meta)
                    again = client.call(f"{source}__test_count", {"key": key}, **meta)
                    self.assertEqual(again["structuredContent"], {"count": 1})
                    self.assertNotIn("replayed", first["_meta"]["crab/call"])
                    self.assertTrue(again["_meta"]["crab/call"]["replayed"])
                    other = client.call(f"{source}__test_count", {"key": key})
                    self.assertEqual(other["structuredContent"], {"count": 2})

    def test_ids_of_messages_are_no_keys(self) -> None:
        """82: clients count from one at each start, so ids come again."""
        for era in ERAS:
            for source in SOURCES:
                with self.subTest(f"{era}, {source}"):
                    key = self.gateway.unique("key")
                    counted = []
                    for client in (self.client(era), self.client(era)):
                        for _ in range(2):
                            client._last_id = 40
                            said = client.call(f"{source}__test_count", {"key": key})
                            self.assertNotIn("replayed", said["_meta"]["crab/call"])
                            counted.append(said["structuredContent"]["count"])
                    self.assertEqual(counted, [1, 2, 3, 4])


class ArtifactTest(CallsCase):
    """77."""

    def uploaded(self, era: str, content: bytes, kind: str) -> tuple[Any, Message]:
        """A client, and what it gets of a device that has uploaded its result."""
        name = self.unique("camera")
        device = self.open(capabilities=UPLOADS)
        device.register(tool(name))
        self.gateway.wait_listed(name)
        client = self.client(era)
        pending = client.start("tools/call", {"name": name, "arguments": {}})
        request = device.next_call(name)
        answer = device.upload(request, content, kind)
        self.assertEqual(answer.status, 201, answer.body)
        device.answer_uploaded(request, answer.json()["artifact"])
        return client, client.finish(pending)

    def read(self, client: Any, uri: str) -> Message:
        (content,) = client.request("resources/read", {"uri": uri})["contents"]
        self.assertEqual(content["uri"], uri)
        return content

    def test_an_artifact_is_a_link_that_can_be_read(self) -> None:
        photo = os.urandom(300_000)
        for era in ERAS:
            with self.subTest(era):
                client, result = self.uploaded(era, photo, "image/jpeg")
                link, said = result["content"]
                self.assertEqual(link["type"], "resource_link")
                self.assertRegex(link["uri"], "^crab://artifact/")
                self.assertTrue(link["name"])
                self.assertEqual((link["mimeType"], link["size"]), ("image/jpeg", len(photo)))
                self.assertIn(link["uri"], said["text"])
                content = self.read(client, link["uri"])
                self.assertEqual(content["mimeType"], "image/jpeg")
                self.assertEqual(base64.b64decode(content["blob"]), photo)
                listed = [one["uri"] for one in client.pages("resources/list", "resources")]
                self.assertNotIn(link["uri"], listed)
                client, result = self.uploaded(era, b"two\nlines", "text/plain")
                content = self.read(client, result["content"][0]["uri"])
                self.assertEqual(
                    (content["text"], content["mimeType"]), ("two\nlines", "text/plain")
                )

    def test_older_clients_are_told_its_name_in_words(self) -> None:
        client, _ = self.uploaded("legacy", b"x", "text/plain")
        old = self.client("legacy", version="2025-03-26")
        name = self.unique("camera")
        device = self.open(capabilities=UPLOADS)
        device.register(tool(name))
        self.gateway.wait_listed(name)
        pending = old.start("tools/call", {"name": name, "arguments": {}})
        request = device.next_call(name)
        device.answer_uploaded(
            request, device.upload(request, b"abc", "text/plain").json()["artifact"]
        )
        result = old.finish(pending)
        self.assertEqual({one["type"] for one in result["content"]}, {"text"})
        uri = next(word for word in text_of(result).split() if word.startswith("crab://artifact/"))
        self.assertEqual(self.read(old, uri.rstrip(".,:"))["text"], "abc")

    def test_others_than_its_tenants_callers_do_not_read_it(self) -> None:
        client, result = self.uploaded("modern", b"secret", "text/plain")
        uri = result["content"][0]["uri"]
        elsewhere = self.gateway.pair("elsewhere", ("device",))
        for era, code in (("modern", -32602), ("legacy", -32002)):
            unknown = uri[:-1] + ("0" if uri[-1] != "0" else "1")
            with self.subTest(f"{era}, unknown"), self.assertRaises(McpError) as refused:
                self.client(era).request("resources/read", {"uri": unknown})
            self.assertEqual(refused.exception.code, code)
            self.assertEqual(refused.exception.data["uri"], unknown)
        with self.subTest("a device is no caller"):
            other = self.client("modern")
            other.link.headers["Authorization"] = f"Bearer {elsewhere}"
            with self.assertRaises(Exception) as refused:
                other.request("resources/read", {"uri": uri})
            self.assertNotIn("secret", str(refused.exception))
        self.assertEqual(self.read(client, uri)["text"], "secret")

    def test_one_that_is_too_large_for_a_message_names_where_to_fetch_it(self) -> None:
        client, result = self.uploaded("modern", bytes(5 << 20), "application/octet-stream")
        uri = result["content"][0]["uri"]
        with self.assertRaises(McpError) as refused:
            client.request("resources/read", {"uri": uri})
        self.assertIn("/v1/artifacts/", str(refused.exception))


if __name__ == "__main__":
    unittest.main()
