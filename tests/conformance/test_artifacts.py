"""Large results: uploads of devices, downloads of callers, `crab artifacts`
(docs/protocols/clawseed.md, section 9)."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import time
from concurrent.futures import Future
from typing import Any

from support.case import GatewayCase
from support.device import Device, tool
from support.gateway import Gateway, Reply, program
from support.http import HttpConnection, request_bytes
from support.wait import eventually

PHOTO = 20 * 1024 * 1024
EXTENSIONS = ("artifacts", "tool_call_request.deadline_ms")


class ArtifactsTest(GatewayCase):
    CONFIG = {
        "artifacts": {"max_bytes": 24 << 20, "tenant_bytes": 200 << 20, "total_bytes": 400 << 20},
        "devices": {"grace_ms": 3000},
    }

    def called(self, **members: Any) -> tuple[Device, Future[Reply], dict[str, Any]]:
        name = self.unique("camera")
        device = self.open(capabilities=EXTENSIONS)
        device.register(tool(name))
        call = self.gateway.start_call(name, **members)
        return device, call, device.next_call(name)

    def stored(self, content: bytes, **options: Any) -> dict[str, Any]:
        """What the caller of a tool gets whose result was uploaded."""
        device, call, request = self.called()
        response = device.upload(request, content, **options)
        self.assertEqual(response.status, 201, response.body)
        device.answer_uploaded(request, response.json()["artifact"])
        return call.result(20).result["artifact"]

    def fetch(
        self, artifact: dict[str, Any], caller: str = "tester", method: str = "GET", **headers: str
    ) -> Any:
        return self.gateway.fetch(
            method,
            artifact["href"],
            self.gateway.caller_token(caller),
            {name.replace("_", "-"): value for name, value in headers.items()},
        )

    def kept_files(self) -> int:
        folder = self.gateway.folder / "state" / "artifacts"
        return sum(
            1
            for path in folder.rglob("*")
            if path.is_file() and not path.name.startswith("index.db")
        )

    def test_connected_tells_how_to_upload_and_only_to_those_who_can(self) -> None:
        able = self.open(capabilities=EXTENSIONS).connected
        self.assertEqual(
            able["artifacts"],
            {"upload": "/api/artifacts", "inline_bytes": 262144, "max_bytes": 24 << 20},
        )
        self.assertIn("artifacts", able["capabilities"])
        self.assertNotIn("artifacts", self.open(capabilities=("tool_call_cancel",)).connected)

    def test_a_photo_of_20_mb_reaches_the_caller_and_memory_stays_bounded(self) -> None:
        content = os.urandom(PHOTO)
        device, call, request = self.called()
        before = self.gateway.forget_peak()
        response = device.upload(request, content)
        self.assertEqual(response.status, 201, response.body)
        device.answer_uploaded(request, response.json()["artifact"])
        artifact = call.result(20).result["artifact"]
        self.assertEqual((artifact["bytes"], artifact["content_type"]), (PHOTO, "image/jpeg"))
        self.assertEqual(artifact["sha256"], hashlib.sha256(content).hexdigest())
        got = self.fetch(artifact)
        self.assertEqual(got.status, 200)
        self.assertEqual(got.body, content)
        self.assertLess(
            self.gateway.growth_since(before),
            6 << 20,
            "an upload and a download take at most 1 MiB each, and buffers of the libraries",
        )

    def test_a_download_takes_ranges_conditions_and_head(self) -> None:
        artifact = self.stored(b"0123456789" * 100)
        part = self.fetch(artifact, Range="bytes=10-14")
        self.assertEqual(
            (part.status, part.body, part.headers["content-range"]),
            (206, b"01234", "bytes 10-14/1000"),
        )
        self.assertEqual(self.fetch(artifact, Range="bytes=-3").body, b"789")
        beyond = self.fetch(artifact, Range="bytes=1000-")
        self.assertEqual((beyond.status, beyond.headers["content-range"]), (416, "bytes */1000"))
        tag = self.fetch(artifact).headers["etag"]
        self.assertEqual(self.fetch(artifact, If_None_Match=tag).status, 304)
        self.assertEqual(self.fetch(artifact, Range="bytes=0-0", If_Range='"other"').status, 200)
        head = self.fetch(artifact, method="HEAD")
        self.assertEqual(
            (head.status, head.headers["content-length"], head.body), (200, "1000", b"")
        )

    def test_a_download_is_never_a_page_of_the_gateways_origin(self) -> None:
        headers = self.fetch(self.stored(b"<script>", content_type="text/html")).headers
        self.assertEqual(
            (headers["x-content-type-options"], headers["content-disposition"]),
            ("nosniff", "attachment"),
        )
        self.assertIn("sandbox", headers["content-security-policy"])

    def test_an_upload_is_tied_to_a_running_call_of_the_same_device(self) -> None:
        before = self.kept_files()
        device, call, request = self.called()
        self.assertEqual(
            device.upload(request, b"x", token=self.new_token()).status, 404, "another device"
        )
        self.assertEqual(
            device.upload(request, b"x", token=self.gateway.caller_token()).status, 403, "a caller"
        )
        self.assertEqual(device.upload(request, b"x", token=None).status, 401)
        self.assertEqual(
            device.upload(request, b"x", headers={"Origin": "http://evil.example"}).status, 403
        )
        self.assertEqual(
            device.upload(request, b"x", call_id="0192f6c1-7a10-7c3e-9b1d-5f2a8c0e4d77").status, 404
        )
        device.answer(request, "done")
        call.result(10)
        self.assertEqual(device.upload(request, b"x").status, 404, "the call has ended")
        self.assertEqual(self.kept_files(), before)

    def test_of_a_wrong_hash_or_a_broken_upload_nothing_is_kept(self) -> None:
        before = self.kept_files()
        device, call, request = self.called()
        wrong = device.upload(request, b"evil" * 1000, digest_of=b"good")
        self.assertEqual((wrong.status, wrong.json()["code"]), (400, "INVALID_ARGS"))
        self.assertEqual(
            device.upload(request, b"x", headers={"Content-Digest": "md5=:AAAA:"}).status, 400
        )
        self.assertEqual(
            device.upload(request, b"", headers={"Content-Length": str(30 << 20)}).status, 413
        )
        with HttpConnection(self.gateway.public) as link:
            headers = {
                "Authorization": f"Bearer {device._token}",
                "Content-Type": "image/jpeg",
                "Content-Length": "100000",
                "Content-Digest": "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:",
            }
            link.send_raw(
                request_bytes("POST", f"/api/artifacts?call_id={request['id']}", headers, None)
                + b"half of it"
            )
            eventually(lambda: self.kept_files() == before + 1, "the upload has begun")
        eventually(
            lambda: self.kept_files() == before, "what was begun is gone with its connection"
        )
        device.answer(request, "after all")
        self.assertEqual(call.result(10).result, {"text": "after all"})

    def test_uploads_of_one_device_leave_places_for_others(self) -> None:
        device, call, request = self.called()
        before = self.kept_files()
        headers = {
            "Authorization": f"Bearer {device._token}",
            "Content-Type": "image/jpeg",
            "Content-Length": "100000",
            "Content-Digest": "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:",
        }
        head = request_bytes("POST", f"/api/artifacts?call_id={request['id']}", headers, None)
        with contextlib.ExitStack() as links:
            for _ in range(8):
                link = links.enter_context(HttpConnection(self.gateway.public))
                link.send_raw(head + b"half of it")
            eventually(lambda: self.kept_files() == before + 8, "eight uploads have begun")
            refused = device.upload(request, b"one more")
            self.assertEqual((refused.status, refused.json()["code"]), (429, "RATE_LIMITED"))
            self.assertEqual(self.fetch(self.stored(b"of another")).body, b"of another")
        eventually(lambda: self.kept_files() == before + 1, "their files are gone")
        self.assertEqual(device.upload(request, b"one more").status, 201)
        device.answer(request, "done")
        call.result(10)
        eventually(lambda: self.kept_files() == before + 1, "only the other's is kept")

    def test_a_result_can_name_only_what_was_uploaded_for_its_call(self) -> None:
        other = self.stored(b"of another call")
        device, call, request = self.called()
        device.answer_uploaded(request, other["id"])
        self.assertEqual(call.result(10).code, "INTERNAL")

    def test_what_no_result_named_is_removed(self) -> None:
        before = self.kept_files()
        device, call, request = self.called()
        self.assertEqual(device.upload(request, b"x" * 100).status, 201)
        self.assertEqual(self.kept_files(), before + 1)
        device.answer(request, "never mind")
        call.result(10)
        eventually(lambda: self.kept_files() == before, "the file is gone")

    def test_a_flood_of_uploads_is_recorded_by_its_first_ones_and_counted(self) -> None:
        name = self.unique("camera")
        with Gateway({"artifacts": {"tenant_bytes": 1 << 20}}) as gateway:
            device = Device(gateway, gateway.pair("camera"), capabilities=EXTENSIONS)
            self.addCleanup(device.drop)
            device.register(tool(name))
            began, uploads = time.monotonic(), 96
            for _ in range(uploads // 16):  # as many as a call may have
                call = gateway.start_call(name)
                request = device.next_call(name)
                for _ in range(16):
                    self.assertEqual(device.upload(request, b"a part").status, 201)
                device.answer(request, "done")
                call.result(10)
            seconds = time.monotonic() - began
            gateway.stop()
            gateway.start()  # what was left out is told at the end at the latest
            command = [
                program(),
                "audit",
                "export",
                "--since",
                "1h",
                "--config",
                str(gateway.config_file),
            ]
            records = [
                json.loads(line)
                for line in subprocess.run(
                    command, capture_output=True, text=True, timeout=30, check=True
                ).stdout.splitlines()
            ]
        stored = [record for record in records if record.get("event") == "artifact.stored"]
        left_out = [record for record in records if record.get("event") == "audit.left_out"]
        self.assertEqual(
            {(record["of"], record["principal"]) for record in left_out},
            {("artifact.stored", "device/camera")},
        )
        self.assertEqual(len(stored) + sum(record["count"] for record in left_out), uploads)
        self.assertGreaterEqual(len(stored), 20)
        self.assertLessEqual(len(stored), 20 + seconds + 1)
        self.assertEqual(
            len({record["call_id"] for record in records if "call_id" in record}),
            uploads // 16,
            "calls are all recorded",
        )

    def test_an_upload_goes_on_while_the_link_is_broken(self) -> None:
        name, token = self.unique("camera"), self.new_token()
        device = self.open(token, capabilities=EXTENSIONS)
        device.register(tool(name))
        call = self.gateway.start_call(name)
        request = device.next_call(name)
        device.cut()
        response = device.upload(request, b"while away")
        self.assertEqual(response.status, 201)
        self.open(token, session_id=device.session_id).answer_uploaded(
            request, response.json()["artifact"]
        )
        self.assertEqual(self.fetch(call.result(10).result["artifact"]).body, b"while away")

    def test_a_quota_that_is_used_up_refuses_with_507(self) -> None:
        with Gateway({"artifacts": {"tenant_bytes": 8192}}) as gateway:
            device = Device(gateway, gateway.pair("camera"), capabilities=EXTENSIONS)
            self.addCleanup(device.drop)
            device.register(tool("camera"))
            call = gateway.start_call("camera")
            request = device.next_call("camera")
            self.assertEqual(device.upload(request, b"x" * 5000).status, 201)
            refused = device.upload(request, b"x" * 5000)
            self.assertEqual((refused.status, refused.json()["code"]), (507, "RATE_LIMITED"))
            device.answer(request, "no room")
            call.result(10)

    def test_artifacts_survive_kill_9_and_half_uploads_do_not(self) -> None:
        artifact = self.stored(b"kept")
        folder = self.gateway.folder / "state" / "artifacts"
        self.gateway.kill()
        (folder / "incoming" / ("a" * 32)).write_bytes(b"half")
        self.gateway.start()
        self.assertEqual(self.fetch(artifact).body, b"kept")
        self.assertEqual(list((folder / "incoming").iterdir()), [])

    def test_the_command_line_lists_gets_and_deletes(self) -> None:
        artifact = self.stored(b"look" * 1000)
        self.assertIn(artifact["id"], self.gateway.crab("artifacts", "list"))
        file = self.gateway.folder / "photo.jpg"
        self.gateway.crab("artifacts", "get", artifact["id"], "--to", str(file))
        self.assertEqual(file.read_bytes(), b"look" * 1000)
        self.gateway.crab("artifacts", "delete", artifact["id"])
        self.assertEqual(self.fetch(artifact).status, 404)

    def test_a_result_is_its_callers_alone(self) -> None:
        artifact = self.stored(b"of the tester")
        other = self.gateway.caller_token("another")
        self.assertEqual(self.fetch(artifact, "another").status, 404)
        listed = self.gateway.fetch("GET", "/v1/artifacts", other).json()["artifacts"]
        self.assertEqual(listed, [])
        mine = self.gateway.fetch("GET", "/v1/artifacts", self.gateway.caller_token("tester"))
        self.assertIn(
            (artifact["id"], "caller/tester"),
            [(each["id"], each["caller"]) for each in mine.json()["artifacts"]],
        )
        self.assertIn(artifact["id"], self.gateway.crab("artifacts", "list"))

    def test_callers_delete_nothing(self) -> None:
        artifact = self.stored(b"mine")
        self.assertEqual(self.fetch(artifact, method="DELETE").status, 403)
        self.assertEqual(self.fetch(artifact).status, 200)
        self.assertEqual(self.gateway.fetch("GET", artifact["href"]).status, 401)
