"""Questions "where is …?", each answered within two steps: ARCHITECTURE.md names the file,
or a folder whose README.md names it."""

import itertools
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

QUESTIONS = {
    "the order of the stages of a call": "src/core/pipeline/pipeline.cpp",
    "whether a call may run, and which rule said so": "src/core/policy/policy.cpp",
    "why a repeat does not run twice": "src/core/ledger/ledger.cpp",
    "what survives a crash of a call with effects": "src/core/ledger/ledger_journal.cpp",
    "how calls are limited per principal": "src/core/policy/rate_limits.cpp",
    "which tools a caller sees": "src/core/registry/registry.cpp",
    "how arguments are checked": "src/json/schema/schema_validation.cpp",
    "the bearer token becoming a principal": "src/trust/tokens.cpp",
    "which web pages may connect": "src/trust/origin_policy.cpp",
    "the frames of a device": "src/adapters/clawseed/wire.cpp",
    "the requests of POST /v1/tools/call": "src/adapters/rtp/calls/call_wire.cpp",
    "the gateway's side of pairing": "src/adapters/rtp/pairing/pairing_dialer.cpp",
    "how a tool host is called": "src/adapters/rtp/hosts/rtp_host.cpp",
    "what confines a command": "src/hosts/command/sandbox.cpp",
    "what a sandboxed command may reach on the network": "src/hosts/command/egress/egress_list.cpp",
    "the event loop": "src/net/loop/event_loop.cpp",
    "the HTTP client": "src/net/http/http_client.cpp",
    "floods of HTTP/2": "src/net/http2/http2_session.cpp",
    "the audit log on disk": "src/store/sqlite/audit_store_sqlite.cpp",
    "the reading of the configuration": "src/config/read_config.cpp",
    "what decides the era of an MCP client": "src/adapters/mcp/wire/post_meaning.cpp",
    "how the era of an MCP server is found out": "src/adapters/mcp/client/mcp_connector.cpp",
    "which resources and prompts MCP servers have listed": "src/adapters/mcp/wire/catalogs.cpp",
    "which tools an MCP client gets to see": "src/adapters/mcp/server/tool_lists.cpp",
    "what a gateway is made of": "src/gateway/gateway_components.hpp",
    "the order in which components start and stop": "src/runtime/lifecycle.cpp",
    "who may use the console": "src/console/console_sessions.cpp",
    "which requests the console refuses": "src/console/bridge/console_access.cpp",
    "the operator's list of tools": "src/admin/tool_catalog.cpp",
    "who holds the lease of a node": "src/fleet/lease.cpp",
    "how a call gets to the device of another node": "src/fleet/forwarder.cpp",
    "what proves that a message is of this fleet": "src/bus/envelope.cpp",
    "the client of NATS": "src/bus/nats/nats_link.cpp",
    "what a fleet keeps of calls": "src/store/postgres/ledger_store_postgres.cpp",
    "how a message wakes a browser": "src/push/push_message.cpp",
    "the spans that are sent": "src/gateway/telemetry/trace_export.cpp",
    "passkeys": "src/console/door/passkeys.cpp",
}


def names_in(text: str) -> set[str]:
    """What stands in backticks, with `a/{b,c}` as `a/b` and `a/c`; endings and `.*` are dropped."""
    found = set()
    for name in re.findall(r"`([\w./*{},-]+)`", text):
        parts = [part.split(",") for part in re.split(r"[{}]", name)]
        for choice in itertools.product(*parts):
            path = "".join(choice).removesuffix("/.").removesuffix(".*").rstrip("/")
            found.add(re.sub(r"\.(hpp|cpp)$", "", path).removeprefix("src/"))
    return found


class WhereIsTest(unittest.TestCase):
    def test_the_questions_are_answered_within_two_steps(self) -> None:
        named = names_in((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
        self.assertGreaterEqual(len(QUESTIONS), 20)
        for question, path in QUESTIONS.items():
            with self.subTest(question=question):
                file = Path(path)
                self.assertTrue((ROOT / file).exists(), path)
                folder, stem = file.parent.relative_to("src").as_posix(), file.stem
                if f"{folder}/{stem}" in named:
                    continue
                self.assertTrue(folder in named, f"ARCHITECTURE.md does not name {folder}")
                page = (ROOT / file.parent / "README.md").read_text(encoding="utf-8")
                self.assertTrue(stem in names_in(page), f"its README.md does not name {stem}")

    def test_every_folder_of_code_is_in_the_picture(self) -> None:
        named = names_in((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
        folders = {path.parent for path in (ROOT / "src").rglob("*.cpp")}
        missing = {folder.relative_to(ROOT / "src").as_posix() for folder in folders} - named
        self.assertEqual(missing, set())


if __name__ == "__main__":
    unittest.main()
