"""The audit log for operators: searched, exported and verified, over the admin socket and on the
command line alike (docs/reference/http.md, `/v1/admin/audit`; `crab audit`)."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
import subprocess
from contextlib import closing
from typing import Any
from urllib.parse import urlencode

from support.case import GatewayCase
from support.device import tool
from support.gateway import program
from support.http import HttpConnection, Response, read_head
from support.rtp import call_request
from support.wait import eventually

#: As far as any record goes
LAST = "2100-01-01T00:00:00Z"


class AuditCase(GatewayCase):
    def ask(self, path: str = "", **query: Any) -> Response:
        return self.gateway.admin_request("GET", f"/v1/admin/audit{path}?{urlencode(query)}")

    def search(self, **query: Any) -> dict[str, Any]:
        answer = self.ask(**query)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def crab(self, *words: str, status: int = 0) -> str:
        done = subprocess.run(
            [program(), "audit", *words, "--config", str(self.gateway.config_file)],
            capture_output=True,
            timeout=60,
        )
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout.decode()

    def call(self, name: str, **args: Any) -> str:
        """The id of one more call of that tool."""
        call_id = self.unique("call")
        request = call_request(name, args, call_id=call_id)
        answer = self.gateway.admin_request("POST", "/v1/tools/call", request)
        self.assertEqual(answer.status, 200, answer.body)
        return call_id

    def insert(self, lines: list[str]) -> None:
        """A batch that nobody recorded: it does not fit the chain."""
        with closing(sqlite3.connect(self.gateway.folder / "state" / "audit.db")) as file:
            ((sequence, last),) = file.execute("SELECT max(sequence), max(last_ms) FROM audit")
            row = (sequence + 1, last, last, len(lines), b"x" * 32, b"y" * 32, "\n".join(lines))
            file.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            file.commit()


class AuditSearchTest(AuditCase):
    def test_a_search_finds_what_fits_newest_first(self) -> None:
        device, name = self.open(), self.unique("audited")
        device.register(tool(name))
        device.serve({name: lambda args: {"got": args}})
        self.gateway.wait_listed(name)
        calls = [self.call(name) for _ in range(5)]
        missing = self.call(self.unique("nothing"))
        found = self.search(tool=name)
        self.assertEqual([it["call_id"] for it in found["records"]], calls[::-1])
        self.assertTrue(found["complete"])
        self.assertNotIn("cursor", found)
        self.assertEqual(self.search(tool="audited*", status="ok")["records"], found["records"])
        self.assertEqual(self.search(tool=name, status="error")["records"], [])
        (refused,) = self.search(code="TOOL_NOT_FOUND", q=missing)["records"]
        self.assertEqual(refused["call_id"], missing)
        self.assertEqual(self.search(tool=name, min_us=3_600_000_000)["records"], [])
        self.assertEqual(self.search(tool=name, to="2001-01-01T00:00:00Z")["records"], [])

    def test_parts_go_on_by_cursor_and_equal_the_command_line(self) -> None:
        name = self.unique("nothing")
        for _ in range(7):
            self.call(name)
        whole, parts, cursor = self.search(tool=name), [], ""
        while True:
            part = self.search(tool=name, limit=3, cursor=cursor)
            self.assertLessEqual(len(part["records"]), 3)
            parts += part["records"]
            cursor = part.get("cursor", "")
            self.assertEqual(part["complete"], not cursor)
            if not cursor:
                break
        self.assertEqual(len(whole["records"]), 7)
        self.assertEqual(parts, whole["records"])
        words = ("search", "--tool", name, "-o", "json")
        self.assertEqual(json.loads(self.crab(*words)), whole)
        first = json.loads(self.crab(*words, "--limit", "3"))
        self.assertEqual(first, self.search(tool=name, limit=3))
        rest = json.loads(self.crab(*words, "--cursor", first["cursor"]))
        self.assertEqual(first["records"] + rest["records"], whole["records"])
        shown = self.crab("search", "--tool", name)
        self.assertEqual(shown.count("TOOL_NOT_FOUND"), 7, shown)
        self.assertIn("No such records", self.crab("search", "--tool", self.unique("none")))

    def test_what_means_nothing_is_refused(self) -> None:
        for query in (
            {"from": "yesterday"},
            {"min_us": "x"},
            {"limit": 0},
            {"limit": 201},
            {"cursor": "x"},
            {"cursor": "1"},
            {"tool": "*" * 257},
            {"q": "a " * 17},
        ):
            answer = self.ask(**query)
            self.assertEqual((answer.status, answer.json()["code"]), (400, "INVALID_ARGS"), query)
        answer = self.ask("/export", format="xml")
        self.assertEqual((answer.status, answer.json()["code"]), (400, "INVALID_ARGS"))

    def test_callers_have_no_audit_log(self) -> None:
        answer = self.gateway.fetch("GET", "/v1/admin/audit", self.gateway.caller_token())
        self.assertEqual(answer.status, 404)


class AuditExportTest(AuditCase):
    def times_differ(self) -> bool:
        """After one more call, whether the last and the first of them have different times."""
        self.call(self.unique("nothing"))
        records = self.search(tool="nothing*")["records"]
        return len(records) >= 3 and records[0]["time"] > records[-1]["time"]

    def test_an_export_equals_the_command_lines(self) -> None:
        eventually(self.times_differ, "calls of two milliseconds are recorded")
        lines = self.ask("/export", tool="nothing*")
        self.assertEqual(lines.headers["content-type"], "application/jsonl")
        self.assertEqual(lines.headers["cache-control"], "no-store")
        records = [json.loads(line) for line in lines.body.splitlines()]
        newest = self.search(tool="nothing*")["records"]
        self.assertEqual(records, newest[::-1])
        self.assertEqual(self.crab("export", "--tool", "nothing*"), lines.body.decode())
        until = ("--until", newest[-1]["time"], "--tool", "nothing*")
        self.assertLess(len(self.crab("export", *until)), len(lines.body))
        self.assertEqual(
            self.crab("export", *until),
            self.ask("/export", to=newest[-1]["time"], tool="nothing*").body.decode(),
        )

    def test_a22_no_cell_of_a_csv_is_a_formula(self) -> None:
        hostile = ("=cmd|' /C calc'!A0", "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "＝1+1")
        for name in hostile:
            self.call(name)
        answer = self.ask("/export", format="csv")
        self.assertEqual(answer.headers["content-type"], "text/csv; charset=utf-8")
        text = answer.body.decode()
        rows = list(csv.reader(io.StringIO(text, newline="")))
        head = rows[0]
        self.assertEqual({len(row) for row in rows}, {len(head)})
        cells = [cell for row in rows for cell in row]
        self.assertFalse([it for it in cells if it.lstrip()[:1] in tuple("=+-@＝＋－＠") and it])
        tools = [row[head.index("tool")] for row in rows]
        for name in hostile:
            self.assertIn(f"'{name}", tools)
        self.assertEqual(self.crab("export", "--format", "csv"), text)

    def test_an_export_goes_at_the_pace_of_its_reader_and_two_are_enough(self) -> None:
        self.call("seed")
        eventually(lambda: self.search(tool="seed")["records"], "there is a batch")
        line = json.dumps({"event": "test.filler", "time": LAST, "text": "x" * 1000})
        for _ in range(12):
            self.insert([line] * 1000)
        query = f"/v1/admin/audit/export?{urlencode({'event': 'test.*'})}"
        with HttpConnection(self.gateway.admin) as one, HttpConnection(self.gateway.admin) as two:
            before = self.gateway.forget_peak()
            for reader in (one, two):
                reader.send("GET", query)
                self.assertEqual(read_head(reader.stream).status, 200)
            third = self.ask("/export")
            self.assertEqual((third.status, third.json()["code"]), (429, "RATE_LIMITED"))
            self.assertTrue(self.search(tool="seed")["records"], "searches go on meanwhile")
            body = b"".join(one._chunks(None))
            self.assertEqual(body.count(b"\n"), 12_000)
            self.assertLess(self.gateway.growth_since(before), 24 << 20)
        eventually(lambda: self.ask("/export", tool="seed").status == 200, "places are free again")


class AuditVerifyTest(AuditCase):
    def verify(self) -> dict[str, Any]:
        answer = self.gateway.admin_request("POST", "/v1/admin/audit/verify")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def second_is_refused(self) -> bool:
        """Whether two that are sent at once met."""
        with HttpConnection(self.gateway.admin) as one, HttpConnection(self.gateway.admin) as two:
            for connection in (one, two):
                connection.send("POST", "/v1/admin/audit/verify")
            statuses = sorted(connection.receive().status for connection in (one, two))
        self.assertIn(statuses, ([200, 200], [200, 429]))
        return statuses == [200, 429]

    def test_a54_a_verification_equals_the_command_lines_and_finds_a_change(self) -> None:
        self.call("one")
        checked = self.verify()
        self.assertTrue(checked["intact"])
        self.assertGreaterEqual(checked["records"], 1)
        self.assertEqual(json.loads(self.crab("verify", "-o", "json")), checked)
        eventually(self.second_is_refused, "one verification at a time")
        self.insert([json.dumps({"event": "test.forged", "time": LAST})])
        broken = self.verify()
        self.assertFalse(broken["intact"])
        self.assertIn("does not follow", broken["problem"])
        self.assertEqual(broken["head_hash"], checked["head_hash"])
        self.assertEqual(json.loads(self.crab("verify", "-o", "json", status=1)), broken)


#: Routes that are no GET and leave no `admin.change`, and why (net::Route::unrecorded).
NO_CHANGES = {
    "POST /v1/tools/call": "a call has its record",
    "POST /mcp": "so have calls of MCP clients; the rest is their session",
    "POST /mcp/{scope}": "as /mcp",
    "DELETE /mcp": "ends the client's own session",
    "DELETE /mcp/{scope}": "as /mcp",
    "POST /v1/events": "the event log has what is published",
    "POST /v1/events/ack": "moves the reader's own place",
    "POST /v1/admin/tools/check": "asks, and changes nothing",
    "POST /v1/admin/policy/explain": "asks, and changes nothing",
    "POST /v1/admin/config/check": "asks, and changes nothing",
    "POST /v1/admin/audit/verify": "asks, and changes nothing",
    "POST /v1/admin/console/sessions": "is a record: console.session.*",
}


class ChangeRecordsTest(AuditCase):
    CONFIG = {"leases": {"ttl": "1h", "max_ttl": "2h"}, "mcp": {"scopes": {}}}

    def changes(self) -> list[dict[str, Any]]:
        found, cursor = [], ""
        while True:
            part = self.search(event="admin.change", cursor=cursor)
            found += part["records"]
            cursor = part.get("cursor", "")
            if not cursor:
                return found

    def test_a23_every_route_that_may_change_something_leaves_one_record(self) -> None:
        document = self.gateway.admin_request("GET", "/openapi.json").json()
        routes = [
            (method.upper(), path)
            for path, operations in document["paths"].items()
            for method in operations
            if method in ("post", "put", "patch", "delete")
        ]
        self.assertLess(set(NO_CHANGES), {f"{method} {path}" for method, path in routes})
        sent = {}
        for number, (method, path) in enumerate(routes):
            target = re.sub(r"\{[^}]*\}", f"n{number}", path)
            mark = f"name=mark-{number}"
            answer = self.gateway.admin_request(method, f"{target}?{mark}", {})
            sent[number] = (method, path, target, answer.status)
        records = self.changes()
        for number, (method, path, target, status) in sent.items():
            mine = [it for it in records if it["about"].get("name") == f"mark-{number}"]
            if f"{method} {path}" in NO_CHANGES:
                self.assertEqual(mine, [], f"{method} {path}")
                continue
            self.assertEqual(len(mine), 1, f"{method} {path}: {mine}")
            self.assertEqual(
                {key: mine[0][key] for key in ("method", "path", "http_status", "front", "status")},
                {
                    "method": method,
                    "path": target,
                    "http_status": status,
                    "front": "admin",
                    "status": "ok" if status < 400 else "error",
                },
            )
            self.assertRegex(mine[0]["principal"], r"^local/\d+$")
        self.assertEqual(len(records), len(sent) - len(NO_CHANGES))
