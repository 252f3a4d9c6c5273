"""One gateway whose stores are in a PostgreSQL database."""

from __future__ import annotations

import hashlib
import os
import subprocess
import unittest

from support.case import GatewayCase
from support.device import tool
from support.gateway import Gateway, Reply, program
from support.postgres import Postgres, programs
from support.wait import eventually

EXTENSIONS = ("artifacts", "tool_call_request.deadline_ms")


@unittest.skipUnless(programs(), "PostgreSQL is not installed")
class PostgresTest(GatewayCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.database = cls.enterClassContext(Postgres())
        cls.dsn_file = cls.database.folder / "dsn"
        cls.dsn_file.write_text(cls.database.dsn + "\n")
        cls.CONFIG = {
            "fleet": cls.fleet(),
            "built_in_hosts": {"memory": True, "cron": True},
            "tools": [{"match": "*", "side_effects": True}],
        }
        super().setUpClass()

    @classmethod
    def fleet(cls, **changes: object) -> dict[str, object]:
        return {
            "name": "home",
            "postgres": {"dsn_file": str(cls.dsn_file), "require_sync": False, **changes},
        }

    def restart(self) -> None:
        self.gateway.kill()
        self.gateway.start()

    def test_a_call_that_was_finished_before_a_kill_is_replayed_and_does_not_run_again(
        self,
    ) -> None:
        token, name = self.new_token(), self.unique("tool")
        device = self.open(token)
        device.register(tool(name))
        call = self.gateway.start_call(name, {"a": 1}, idempotency_key="done-" + name)
        device.answer(device.next_call(name), "once")
        self.assertEqual(call.result(10).result, {"text": "once"})
        self.restart()
        back = self.open(token)
        back.register(tool(name))
        reply = self.gateway.call(name, {"a": 1}, idempotency_key="done-" + name)
        self.assertEqual(reply.result, {"text": "once"})
        self.assertEqual(reply.http.headers["crab-replayed"], "true")
        back.assert_silent()
        other = self.gateway.call(name, {"a": 2}, idempotency_key="done-" + name)
        self.assertEqual(other.code, "CONFLICT")

    def test_a_call_that_was_out_at_a_kill_is_unknown(self) -> None:
        token, name = self.new_token(), self.unique("tool")
        device = self.open(token)
        device.register(tool(name))
        self.gateway.start_call(name, {"a": 1}, idempotency_key="out-" + name)
        device.next_call(name)
        self.restart()
        back = self.open(token)
        back.register(tool(name))
        reply = self.gateway.call(name, {"a": 1}, idempotency_key="out-" + name, timeout_ms=1000)
        self.assertEqual(reply.code, "OUTCOME_UNKNOWN")
        back.assert_silent()

    def test_memories_and_artifacts_are_in_the_database(self) -> None:
        entries = {"entries": [{"text": "the kettle is blue"}, {"text": "the cup is red"}]}
        self.assertEqual(self.gateway.call("memory.append", entries).status, "ok")
        content = os.urandom(700_000)
        name = self.unique("photo")
        device = self.open(capabilities=EXTENSIONS)
        device.register(tool(name))
        call = self.gateway.start_call(name)
        request = device.next_call(name)
        stored = device.upload(request, content)
        self.assertEqual(stored.status, 201, stored.body)
        device.answer_uploaded(request, stored.json()["artifact"])
        artifact = call.result(20).result["artifact"]
        self.restart()
        found = self.gateway.call("memory.query", {"query": "kettle"}).result
        self.assertEqual([one["text"] for one in found["entries"]], ["the kettle is blue"])
        got = self.gateway.fetch("GET", artifact["href"], self.gateway.caller_token())
        self.assertEqual(hashlib.sha256(got.body).digest(), hashlib.sha256(content).digest())
        in_state = {path.name for path in (self.gateway.folder / "state").glob("*.db")}
        self.assertTrue(
            in_state.isdisjoint({"trust.db", "ledger.db", "events.db", "sessions.db", "memory.db"}),
            in_state,
        )
        self.assertIn("audit.db", in_state)

    def test_a_dump_of_the_database_and_a_backup_of_the_state_are_restored_together(self) -> None:
        def append(text: str, key: str) -> Reply:
            entries = {"entries": [{"text": text}]}
            return self.gateway.call("memory.append", entries, idempotency_key=key)

        token, key = self.gateway.caller_token(), self.unique("key")
        self.assertEqual(append("the spoon is kept", key).status, "ok")
        copy = self.gateway.folder / self.unique("copy")
        config = ("--config", str(self.gateway.config_file))
        subprocess.run([program(), "backup", str(copy), *config], check=True, timeout=20)
        self.database.dump()
        self.assertEqual(append("the fork is lost", "later-" + key).status, "ok")
        self.gateway.stop()
        try:
            self.database.restore()
            subprocess.run([program(), "restore", str(copy), *config], check=True, timeout=20)
        finally:
            self.gateway.start()
        found = self.gateway.call("memory.query", {"query": "spoon"}).result["entries"]
        self.assertEqual([one["text"] for one in found], ["the spoon is kept"])
        self.assertEqual(self.gateway.call("memory.query", {"query": "fork"}).result["entries"], [])
        self.assertEqual(self.gateway.fetch("GET", "/v1/tools", token).status, 200)
        again = append("the spoon is kept", key)
        self.assertEqual(again.http.headers["crab-replayed"], "true")
        subprocess.run([program(), "audit", "verify", *config], check=True, timeout=20)

    def test_without_the_database_nothing_with_an_effect_begins_and_later_it_does(self) -> None:
        name = self.unique("tool")
        device = self.open()
        device.register(tool(name))
        self.database.stop()
        try:
            reply = self.gateway.call(name, {"a": 1}, idempotency_key="away-" + name)
            self.assertEqual(reply.code, "DEPENDENCY_UNAVAILABLE")
            device.assert_silent()
        finally:
            self.database.start()
        device.serve({name: lambda args: "ran"})
        eventually(
            lambda: self.gateway.call(name, {"a": 1}, idempotency_key="away-" + name).status
            == "ok",
            "the gateway has found its database again",
        )

    def refusal(self, *files: str, **changes: object) -> str:
        """Why another gateway of that configuration, with these files of state, does not start."""
        other = Gateway({"fleet": {**self.fleet(), **changes}})
        for folder in ("state", "run"):
            (other.folder / folder).mkdir(mode=0o700)
        for name in files:
            (other.folder / "state" / name).touch()
        other.write_config(other.config)
        done = subprocess.run(
            [program(), "gateway", "run", "--config", str(other.config_file)],
            capture_output=True,
            text=True,
            timeout=20,
        )
        other._clean_up()
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertNotIn("secret", done.stderr)
        return done.stderr

    def test_a_gateway_that_may_not_have_the_database_says_why(self) -> None:
        self.assertIn("another gateway uses the database", self.refusal())
        self.assertIn("wait for a standby", self.refusal(**self.fleet(require_sync=True)))
        missing = self.fleet(dsn_file="/nowhere/dsn")
        self.assertIn("fleet.postgres.dsn_file", self.refusal(**missing))
        elsewhere = self.gateway.folder / "elsewhere"
        elsewhere.write_text("host=/nowhere user=crab password=secret")
        self.assertIn("it cannot be reached", self.refusal(**self.fleet(dsn_file=str(elsewhere))))
        shadowed = self.refusal("trust.db", "ledger.db")
        self.assertIn("has trust.db, ledger.db of this gateway", shadowed)
        self.assertIn("nothing of it is moved into the database", shadowed)
        self.gateway.stop()
        try:
            self.assertIn("is that of the fleet home", self.refusal(name="office"))
        finally:
            self.gateway.start()


if __name__ == "__main__":
    unittest.main()
