"""Who acts for whom: agents that are only named, tenants, names of tokens (docs/protocols/rtp.md,
section 2, "Whom a call is for")."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from support.case import GatewayCase
from support.gateway import program
from support.http import fetch
from support.rtp import call_request
from test_commands import can_sandbox

POLICY = [{"principal": "caller/planner-app", "act_for": ["planner"]}]


def naming(agent: str) -> dict[str, Any]:
    return {"agent_id": agent, "session_id": "s"}


def entry(text: str) -> dict[str, Any]:
    return {"entries": [{"text": text}]}


class WhoCase(GatewayCase):
    def as_operator(self, tool: str, args: Any, **members: Any) -> dict[str, Any]:
        return fetch(
            self.gateway.admin, "POST", "/v1/tools/call", body=call_request(tool, args, **members)
        ).json()

    def texts(self, caller: str, query: str, **members: Any) -> list[str]:
        return [
            found["text"]
            for found in self.gateway.call(
                "memory.query", {"query": query}, caller=caller, **members
            ).result["entries"]
        ]


@unittest.skipUnless(can_sandbox(), "commands cannot be confined here under DEFAULT")
class WorktreeTest(WhoCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="crab-worktrees-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        for name in ("agents", "anns"):
            (cls.folder / name).mkdir()
            (cls.folder / name / "which").write_text(name)
        cls.CONFIG = {
            "worktrees": [
                {"id": f"garden/{name}", "path": str(cls.folder / name)}
                for name in ("agents", "anns")
            ],
            "providers": [{"id": "files", "kind": "command", "preset": "worktree"}],
            "policy": POLICY,
        }
        super().setUpClass()
        cls.gateway.crab("worktrees", "bind", "planner", "garden/agents")
        cls.gateway.crab("worktrees", "bind", "caller/ann", "garden/anns")

    def read(self, caller: str, agent: str) -> str:
        reply = self.gateway.call(
            "read_file", {"path": "which"}, caller=caller, context=naming(agent)
        )
        return reply.result["text"] if reply.status == "ok" else reply.error["message"]

    def test_naming_an_agent_or_a_principal_opens_nobody_elses_worktree(self) -> None:
        self.assertEqual(self.read("ann", "planner"), "anns", "her own, whatever she says")
        for caller in ("eve", "planner"):
            for agent in ("planner", "caller/ann", "ann", f"caller/{caller}"):
                self.assertIn("worktree", self.read(caller, agent), (caller, agent))

    def test_a_rule_and_the_operator_let_act_for_the_agent(self) -> None:
        self.assertEqual(self.read("planner-app", "planner"), "agents")
        self.assertIn("worktree", self.read("planner-app", "cook"))
        self.assertEqual(
            self.as_operator("read_file", {"path": "which"}, context=naming("planner"))["result"][
                "text"
            ],
            "agents",
        )

    def test_bindings_say_whose_they_are_and_survive_a_restart(self) -> None:
        self.gateway.stop()
        self.gateway.start()
        told = json.loads(self.gateway.crab("worktrees", "list", "-o", "json"))["bindings"]
        self.assertEqual(
            [(each["who"], each["kind"]) for each in told],
            [("caller/ann", "principal"), ("planner", "agent")],
        )
        self.assertEqual(
            (self.read("planner-app", "planner"), self.read("ann", "planner")), ("agents", "anns")
        )


class MemoryTest(WhoCase):
    CONFIG = {"built_in_hosts": {"memory": True, "cron": True}, "policy": POLICY}

    def test_two_callers_that_name_one_agent_share_nothing(self) -> None:
        for caller in ("ann", "eve"):
            self.gateway.call(
                "memory.append",
                entry(f"the kettle of {caller}"),
                caller=caller,
                context=naming("butler"),
            ).result  # noqa: B018
        for caller in ("ann", "eve"):
            self.assertEqual(
                self.texts(caller, "kettle", context=naming("butler")), [f"the kettle of {caller}"]
            )
            self.assertEqual(
                self.texts(caller, "kettle", context=naming("another")),
                [],
                "its own agents are apart as well",
            )
        self.assertEqual(self.texts("eve", "kettle", context=naming("caller/ann/butler")), [])
        self.assertEqual(
            self.gateway.call(
                "memory.delete", {"all": True}, caller="eve", context=naming("butler")
            ).result["deleted"],
            1,
        )
        self.assertEqual(
            self.texts("ann", "kettle", context=naming("butler")), ["the kettle of ann"]
        )

    def test_who_may_act_for_an_agent_works_with_its_memory(self) -> None:
        self.as_operator("memory.append", entry("plan of the harbour"), context=naming("planner"))
        self.assertEqual(
            self.texts("planner-app", "harbour", context=naming("planner")), ["plan of the harbour"]
        )
        self.assertEqual(self.texts("eve", "harbour", context=naming("planner")), [])
        self.assertEqual(
            self.texts("planner", "harbour", context=naming("planner")),
            [],
            "a principal is not the agent of its name",
        )

    def test_a_job_goes_to_the_agent_only_from_who_may_act_for_it(self) -> None:
        job = {"name": "j", "schedule": "0 0 1 1 *"}
        self.assertEqual(
            self.gateway.call(
                "cron.create", job, caller="planner-app", context=naming("planner")
            ).result["agent_id"],
            "planner",
        )
        self.assertEqual(
            self.gateway.call("cron.create", job, caller="eve", context=naming("planner")).result[
                "agent_id"
            ],
            "caller/eve/planner",
        )

    def test_a_reload_gives_and_takes_the_right(self) -> None:
        self.as_operator("memory.append", entry("recipe of the cook"), context=naming("cook"))
        self.assertEqual(self.texts("kitchen-app", "recipe", context=naming("cook")), [])
        self.addCleanup(self.gateway.reload, {"policy": POLICY})
        self.gateway.reload(
            {"policy": [*POLICY, {"principal": "caller/kitchen-app", "act_for": ["co*"]}]}
        )
        for _ in range(100):
            if found := self.texts("kitchen-app", "recipe", context=naming("cook")):
                break
        self.assertEqual(found, ["recipe of the cook"])


class TenantTest(WhoCase):
    CONFIG = {"built_in_hosts": {"memory": True, "cron": True}}
    JOB = {"name": "j", "schedule": "0 0 1 1 *"}

    def token(self, name: str, *words: str) -> str:
        return self.gateway.crab(
            "devices", "pair", "--token", "--role", "caller", "--name", name, *words
        ).strip()

    def test_a_token_works_in_the_default_tenant_and_in_no_other(self) -> None:
        self.as_operator("memory.append", entry("the code is 1234"), tenant_id="secret")
        self.gateway.call("memory.append", entry("mine")).result  # noqa: B018
        calls = (
            ("memory.query", {"query": "code"}),
            ("memory.append", entry("x")),
            ("memory.delete", {"all": True}),
            ("cron.list", {}),
            ("cron.create", self.JOB),
            ("gateway.time", {}),
        )
        for tenant in ("secret", "system", "Default", "default ", "*"):
            for tool, args in calls:
                self.assertIn(
                    self.gateway.call(tool, args, tenant_id=tenant).code,
                    ("FORBIDDEN", "TOOL_NOT_FOUND") if tool == "gateway.time" else ("FORBIDDEN",),
                    (tenant, tool),
                )
            cancel = self.gateway.fetch(
                "POST",
                "/v1/tools/cancel",
                self.gateway.caller_token(),
                body={"version": "v1", "tenant_id": tenant, "call_id": "c"},
            )
            self.assertEqual((cancel.status, cancel.json()["status"]), (200, "not_found"))
            self.assertEqual(
                self.gateway.fetch(
                    "GET",
                    f"/v1/artifacts?tenant_id={tenant.replace(' ', '%20')}",
                    self.gateway.caller_token(),
                ).status,
                403,
            )
        told = self.as_operator("memory.query", {"query": "code"}, tenant_id="secret")
        self.assertEqual(len(told["result"]["entries"]), 1, "nothing was deleted")

    def test_named_tenants_widen_a_token_when_it_is_made(self) -> None:
        wide = self.token("wide", "--tenant", "harbour", "--tenant", "inn")
        for tenant in ("default", "harbour", "inn"):
            self.gateway.call(
                "memory.append", entry(f"in the {tenant}"), token=wide, tenant_id=tenant
            ).result  # noqa: B018
            self.assertEqual(
                [
                    found["text"]
                    for found in self.gateway.call(
                        "memory.query", {"query": "the"}, token=wide, tenant_id=tenant
                    ).result["entries"]
                ],
                [f"in the {tenant}"],
            )
        for tenant in ("system", "secret"):
            self.assertEqual(
                self.gateway.call(
                    "memory.query", {"query": "the"}, token=wide, tenant_id=tenant
                ).code,
                "FORBIDDEN",
            )
        narrow = self.token("narrow", "--tenant", "inn", "--no-default-tenant")
        self.assertEqual(
            self.gateway.call("memory.query", {"query": "the"}, token=narrow).code, "FORBIDDEN"
        )
        self.assertEqual(
            self.gateway.call("cron.list", {}, token=narrow, tenant_id="inn").result["jobs"], []
        )
        tenants = {
            caller["name"]: caller["tokens"][0]["tenants"]
            for caller in json.loads(self.gateway.crab("devices", "list", "-o", "json"))["callers"]
        }
        self.assertEqual(
            (tenants["wide"], tenants["narrow"]), (["default", "harbour", "inn"], ["inn"])
        )

    def test_tenants_of_a_token_survive_a_restart(self) -> None:
        token = self.token("stays", "--tenant", "pier")
        self.gateway.stop()
        self.gateway.start()
        self.assertEqual(
            self.gateway.call("cron.list", {}, token=token, tenant_id="pier").result["jobs"], []
        )
        self.assertEqual(
            self.gateway.call("cron.list", {}, token=token, tenant_id="inn").code, "FORBIDDEN"
        )


class NameTest(WhoCase):
    CONFIG = {"built_in_hosts": {"memory": True}}

    def principal(self, token: str) -> str:
        call = call_request("memory.query", {})
        self.gateway.fetch("POST", "/v1/tools/call", token, body=call)
        record: dict[str, Any] = {}
        for _ in range(200):
            response = self.gateway.admin_request("GET", f"/v1/admin/calls/{call['call_id']}")
            if response.status == 200 and "principal" in (record := response.json()):
                break
        return record["principal"]

    def pair(self, name: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [
                program(),
                "devices",
                "pair",
                "--token",
                "--role",
                "caller",
                "--name",
                name,
                "--socket",
                str(self.gateway.admin),
            ],
            capture_output=True,
            text=True,
            timeout=20,
        )

    def test_different_names_are_different_principals_or_refused(self) -> None:
        one, two = self.pair("分身").stdout.strip(), self.pair("影武者").stdout.strip()
        self.assertNotEqual(self.principal(one), self.principal(two))
        first = self.pair("Build 1").stdout.strip()
        self.assertEqual(self.principal(first), "caller/build-1")
        refused = self.pair("build-1!")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("caller/build-1", refused.stderr)
        self.assertIn("Build 1", refused.stderr)
        self.assertEqual(
            self.principal(self.pair("Build 1").stdout.strip()),
            "caller/build-1",
            "one name is one principal",
        )
        self.gateway.crab("devices", "revoke", "分身")
        self.assertEqual(self.gateway.fetch("GET", "/v1/tools", one).status, 401)
        self.assertEqual(self.gateway.fetch("GET", "/v1/tools", two).status, 200)


def host_idempotency_key(text: str, caller: str, kind: str) -> str:
    """What an MCP server sees of a caller's call id or, with `kind` `key`, of its idempotency
    key."""
    whole = f"default\ncaller/{caller}\n{kind}\n{text}"
    return hashlib.sha256(whole.encode()).hexdigest()[:32]


MCP_SERVER = """
import json, sys

for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if method == "initialize":
        result = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "till", "version": "1"},
        }
    elif method == "tools/list":
        schema = {"type": "object"}
        result = {"tools": [
            {"name": "pay", "inputSchema": schema, "_meta": {"crab/acceptsIdempotencyKey": True}},
            {"name": "look", "inputSchema": schema},
        ]}
    elif method == "tools/call":
        key = params.get("_meta", {}).get("crab/idempotencyKey", "none")
        result = {"content": [{"type": "text", "text": key}]}
    elif "id" in message:
        error = {"code": -32601, "message": "unknown"}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
        continue
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


class McpServerTest(WhoCase):
    """An MCP server that takes keys sees a key of each caller's own."""

    @classmethod
    def setUpClass(cls) -> None:
        folder = Path(tempfile.mkdtemp(prefix="crab-who-"))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        (folder / "server.py").write_text(MCP_SERVER)
        command = {"command": sys.executable, "args": [str(folder / "server.py")]}
        cls.CONFIG = {"mcp": {"servers": {"till": {**command, "start": "eager"}}}}
        super().setUpClass()
        cls.gateway.wait_listed("pay", "look")

    def key(self, caller: str, tool: str = "pay", **members: Any) -> str:
        return str(self.gateway.call(tool, {"n": 1}, caller=caller, **members).result["text"])

    def test_equal_keys_and_ids_of_two_callers_are_different_keys_there(self) -> None:
        for kind, members in (
            ("key", {"idempotency_key": "order-1"}),
            ("id", {"call_id": "job-7"}),
        ):
            for caller in ("eve", "ann"):
                self.assertEqual(
                    self.key(caller, **members),
                    host_idempotency_key(list(members.values())[0], caller, kind),
                    "the same after a crash, too: it is made of nothing else",
                )

    def test_a_server_that_does_not_take_keys_gets_none(self) -> None:
        self.assertEqual(self.key("ann", "look", idempotency_key="order-2"), "none")


if __name__ == "__main__":
    unittest.main()
