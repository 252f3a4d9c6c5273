"""`crab host memory|cron` as processes of their own: docs/protocols/rtp.md, sections 1 to 3, 10 and
11."""

from __future__ import annotations

import hashlib
import shutil
import signal
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from support import rtp
from support.gateway import Gateway, program
from support.host import Host
from support.http import fetch


def entry(text: str) -> dict[str, Any]:
    return {"entries": [{"text": text}]}


class HostCase(unittest.TestCase):
    KIND = "memory"

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="crab-host-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.host = Host(self.folder, self.KIND)
        self.addCleanup(self.end)

    def end(self) -> None:
        if self.host.process.poll() is None:
            self.assertEqual(self.host.end(), 0, self.host.log())
        self.assertNotIn("Sanitizer", self.host.log())

    def crash(self) -> None:
        """kill -9, and a new process on the same files."""
        self.host.end(signal.SIGKILL)
        self.host.start()


class ListenerTest(HostCase):
    def test_the_socket_is_private_and_gone_after_an_orderly_end(self) -> None:
        self.assertEqual(stat.S_IMODE(self.host.socket.stat().st_mode), 0o600)
        self.assertEqual(self.host.end(), 0)
        self.assertFalse(self.host.socket.exists())

    def test_health_and_the_list_of_tools(self) -> None:
        self.assertEqual(self.host.fetch("GET", "/healthz").json(), {"ok": True})
        document = self.host.fetch("GET", "/v1/tools").json()
        rtp.check_discovery(document)
        self.assertEqual(document["service"], "memory")
        self.assertEqual(
            [tool["name"] for tool in document["tools"]],
            ["memory.append", "memory.delete", "memory.query"],
        )

    def test_other_methods_are_405_with_allow_and_other_paths_404(self) -> None:
        for method, path, allow in (
            ("POST", "/healthz", "GET"),
            ("HEAD", "/v1/tools", "GET"),
            ("GET", "/v1/tools/call", "POST"),
            ("PUT", "/v1/tools/cancel", "POST"),
        ):
            response = self.host.fetch(method, path)
            self.assertEqual((response.status, response.headers["allow"]), (405, allow), path)
        for path in ("/", "/readyz", "/v1/tools/", "/v1/pair", "/v1/admin/tools", "/metrics"):
            self.assertEqual(self.host.fetch("GET", path).status, 404, path)

    def test_bad_requests_are_400_and_bad_arguments_name_the_place(self) -> None:
        self.assertEqual(self.host.fetch("POST", "/v1/tools/call", b"{").status, 400)
        self.assertEqual(self.host.code("memory.nothing"), "TOOL_NOT_FOUND")
        answer = self.host.call("memory.append", {"entries": [{"text": 7}]})
        self.assertEqual(
            (answer["error"]["code"], answer["error"]["details"]["errors"][0]["pointer"]),
            ("INVALID_ARGS", "/entries/0/text"),
        )

    def test_a_cancel_that_finds_no_call_says_so_and_one_that_comes_first_ends_it(self) -> None:
        answer = self.host.fetch(
            "POST",
            "/v1/tools/cancel",
            {"version": "v1", "tenant_id": "default", "call_id": "early"},
        ).json()
        self.assertEqual(answer, {"version": "v1", "call_id": "early", "status": "not_found"})
        self.assertEqual(self.host.code("memory.query", call_id="early"), "CANCELLED")

    def test_a_second_host_on_the_same_socket_is_refused(self) -> None:
        done = subprocess.run(
            [
                program(),
                "host",
                "memory",
                "--unix",
                str(self.host.socket),
                "--state",
                str(self.folder / "other"),
            ],
            capture_output=True,
            text=True,
            timeout=15,
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("crab host: ", done.stderr)
        self.assertEqual(self.host.fetch("GET", "/healthz").status, 200)

    def test_a_second_host_on_the_same_state_is_refused(self) -> None:
        done = subprocess.run(
            [
                program(),
                "host",
                "memory",
                "--unix",
                str(self.folder / "other.sock"),
                "--state",
                str(self.folder / "memory"),
            ],
            capture_output=True,
            text=True,
            timeout=15,
        )
        self.assertEqual(
            (done.returncode, done.stderr),
            (
                1,
                f"crab host: another process uses {self.folder / 'memory'}; stop it, or give this "
                f"one a folder of its own\n",
            ),
        )


class MemoryTest(HostCase):
    def test_what_is_appended_is_found_in_its_scope_only(self) -> None:
        self.host.result("memory.append", entry("the kettle is red"))
        self.assertEqual(self.host.texts("kettle"), ["the kettle is red"])
        self.assertEqual(self.host.texts("kettle", tenant_id="other"), [])
        self.assertEqual(
            self.host.texts("kettle", context={"agent_id": "other", "session_id": "s"}), []
        )

    def test_a_repeat_by_key_adds_nothing_and_other_content_is_a_conflict(self) -> None:
        first = self.host.result("memory.append", entry("once"), idempotency_key="k")
        self.assertEqual(
            self.host.result("memory.append", entry("once"), idempotency_key="k"), first
        )
        self.assertEqual(
            self.host.code("memory.append", entry("twice"), idempotency_key="k"), "CONFLICT"
        )
        self.assertEqual(self.host.texts("once"), ["once"])

    def test_two_callers_of_a_gateway_with_one_key_do_not_meet(self) -> None:
        acts = [{"principal": f"caller/{who}", "act_for": ["planner"]} for who in ("ann", "bob")]
        said = {
            "idempotency_key": "k",
            "call_id": "c1",
            "context": {"agent_id": "planner", "session_id": "s"},
        }
        with Gateway(
            {"hosts": [{"name": "memory", "unix": str(self.host.socket)}], "policy": acts}
        ) as gateway:
            gateway.wait_listed("memory.append")
            texts = {"ann": entry("one text"), "bob": entry("one text"), "tester": entry("a third")}
            first = {
                who: gateway.call("memory.append", text, caller=who, **said).result
                for who, text in texts.items()
            }
            ids = {each["entries"][0]["entry_id"] for each in first.values()}
            self.assertEqual(len(ids), 3, "nobody was given the outcome of another")
            self.crash()
            for who, text in texts.items():
                # through another gateway's eyes: what the host itself knows
                digest = hashlib.sha256(f"caller/{who}".encode()).hexdigest()[:32]
                agent = "planner" if who != "tester" else "caller/tester/planner"
                request = rtp.call_request(
                    "memory.append",
                    text,
                    **{**said, "context": {"agent_id": agent, "session_id": "s"}},
                )
                again = fetch(
                    self.host.socket,
                    "POST",
                    "/v1/tools/call",
                    {"Crab-Principal": digest},
                    request,
                    timeout=10,
                )
                self.assertEqual(again.json()["result"], first[who])

    def test_what_a_gateway_sent_before_it_named_its_callers_does_not_run_again(self) -> None:
        said = {"idempotency_key": "k", "call_id": "old"}
        first = self.host.result("memory.append", entry("before the update"), **said)
        self.crash()
        request = rtp.call_request("memory.append", entry("before the update"), **said)
        again = fetch(
            self.host.socket,
            "POST",
            "/v1/tools/call",
            {"Crab-Principal": "ann"},
            request,
            timeout=10,
        )
        self.assertEqual(again.json()["result"], first)
        self.assertEqual(self.host.texts("update"), ["before the update"])

    def test_a_cancel_reaches_the_calls_of_its_caller_only(self) -> None:
        def post(path: str, who: str, body: dict[str, Any]) -> dict[str, Any]:
            return fetch(
                self.host.socket, "POST", path, {"Crab-Principal": who}, body, timeout=10
            ).json()

        wanted = {"version": "v1", "tenant_id": "default", "call_id": "early"}
        self.assertEqual(post("/v1/tools/cancel", "ann", wanted)["status"], "not_found")
        request = rtp.call_request(
            "memory.append", entry("not cancelled"), call_id="early", tenant_id="default"
        )
        self.assertEqual(post("/v1/tools/call", "bob", request)["status"], "ok")
        self.assertEqual(post("/v1/tools/call", "ann", request)["error"]["code"], "CANCELLED")

    def test_what_was_answered_survives_a_crash_and_so_does_its_key(self) -> None:
        first = self.host.result("memory.append", entry("before the crash"), idempotency_key="k")
        self.crash()
        self.assertEqual(self.host.texts("crash"), ["before the crash"])
        self.assertEqual(
            self.host.result("memory.append", entry("before the crash"), idempotency_key="k"), first
        )
        self.assertEqual(self.host.texts("crash"), ["before the crash"])

    def test_a_gateway_calls_it_before_and_after_a_crash_of_the_host(self) -> None:
        with Gateway({"hosts": [{"name": "memory", "unix": str(self.host.socket)}]}) as gateway:
            gateway.wait_listed("memory.append", "memory.query", "memory.delete")
            first = gateway.call(
                "memory.append", entry("the lamp is blue"), idempotency_key="k"
            ).result
            self.assertEqual(
                self.host.texts("lamp"), [], "the caller only says that it is this agent"
            )
            self.assertEqual(
                self.host.texts(
                    "lamp", context={"agent_id": "caller/tester/tests", "session_id": "s"}
                ),
                ["the lamp is blue"],
            )
            self.assertEqual(gateway.call("memory.append", {"entries": []}).code, "INVALID_ARGS")
            self.crash()
            found = gateway.call("memory__memory.query", {"query": "lamp"}).result["entries"]
            self.assertEqual(
                [element["entry_id"] for element in found], [first["entries"][0]["entry_id"]]
            )
            self.assertEqual(
                gateway.call(
                    "memory.append", entry("the lamp is blue"), idempotency_key="k"
                ).result,
                first,
            )
            self.assertEqual(gateway.call("memory.delete", {"all": True}).result["deleted"], 1)


class CronTest(HostCase):
    KIND = "cron"

    def jobs(self, **members: Any) -> list[str]:
        return [job["name"] for job in self.host.result("cron.list", **members)["jobs"]]

    def test_a_job_is_created_listed_in_its_tenant_and_removed(self) -> None:
        job = self.host.result(
            "cron.create", {"name": "morning", "schedule": "30 7 * * MON-FRI", "timezone": "UTC"}
        )
        self.assertEqual(self.jobs(), ["morning"])
        self.assertEqual(self.jobs(tenant_id="other"), [])
        job_id = self.host.result("cron.list")["jobs"][0]["job_id"]
        self.assertIn(job_id, str(job))
        self.assertTrue(self.host.result("cron.remove", {"job_id": job_id})["deleted"])
        self.assertEqual(self.jobs(), [])
        self.assertEqual(self.host.code("cron.remove", {"job_id": job_id}), "INVALID_ARGS")

    def test_a_schedule_that_is_none_is_refused(self) -> None:
        for schedule in ("* * * *", "60 * * * *", "0 0 31 2 *"):
            self.assertEqual(
                self.host.code("cron.create", {"name": "never", "schedule": schedule}),
                "INVALID_ARGS",
                schedule,
            )

    def test_jobs_and_keys_survive_a_crash(self) -> None:
        args = {"name": "daily", "schedule": "@daily"}
        first = self.host.result("cron.create", args, idempotency_key="k")
        self.crash()
        self.assertEqual(self.jobs(), ["daily"])
        self.assertEqual(self.host.result("cron.create", args, idempotency_key="k"), first)
        self.assertEqual(self.jobs(), ["daily"])

    def test_a_gateway_creates_jobs_in_it(self) -> None:
        with Gateway({"hosts": [{"name": "cron", "unix": str(self.host.socket)}]}) as gateway:
            gateway.wait_listed("cron.create")
            gateway.call("cron.create", {"name": "hourly", "schedule": "@hourly"})
            self.assertEqual(self.jobs(), ["hourly"])

    def test_it_says_that_nobody_takes_its_events(self) -> None:
        self.assertIn("no gateway takes events", self.host.log())


class InsideTest(unittest.TestCase):
    """`built_in_hosts` of a gateway."""

    def test_they_are_off_unless_asked_for(self) -> None:
        with Gateway() as gateway:
            self.assertEqual(
                {name for name in gateway.tools() if name.startswith(("memory.", "cron."))}, set()
            )

    def test_memories_and_jobs_survive_a_stop_and_a_crash(self) -> None:
        with Gateway({"built_in_hosts": {"memory": True, "cron": True}}) as gateway:
            first = gateway.call(
                "memory.append", entry("the door is green"), idempotency_key="k"
            ).result
            gateway.call("cron.create", {"name": "nightly", "schedule": "@daily"})
            gateway.stop()
            gateway.start()
            self.assertEqual(
                gateway.call(
                    "memory.append", entry("the door is green"), idempotency_key="k"
                ).result,
                first,
            )
            gateway.kill()
            gateway.start()
            self.assertEqual(
                [
                    element["text"]
                    for element in gateway.call("memory.query", {"query": "door"}).result["entries"]
                ],
                ["the door is green"],
            )
            jobs = gateway.call("cron.list").result["jobs"]
            self.assertEqual([job["name"] for job in jobs], ["nightly"])
            self.assertTrue(
                gateway.call("cron.remove", {"job_id": jobs[0]["job_id"]}).result["deleted"]
            )

    def test_a_host_of_the_same_tools_is_reached_by_their_full_names_only(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="crab-host-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        host = Host(folder, "memory")
        self.addCleanup(host.end)
        with Gateway(
            {
                "built_in_hosts": {"memory": True},
                "hosts": [{"name": "far", "unix": str(host.socket)}],
            }
        ) as gateway:
            gateway.call("memory.append", entry("near"))
            self.assertEqual(host.texts("near"), [])
            gateway.wait_listed("far__memory.append")
            gateway.call("far__memory.append", entry("far"))
            self.assertEqual(
                len(
                    host.texts(
                        "far", context={"agent_id": "caller/tester/tests", "session_id": "s"}
                    )
                ),
                1,
            )
