"""docs/protocols/rtp.md, sections 1 to 3, on the public listener: what a request has to look like,
and the routes around it."""

from __future__ import annotations

import json
from typing import Any

from support.case import GatewayCase
from support.device import tool
from support.http import HttpConnection, Response, fetch
from support.rtp import call_request, check_discovery, check_response
from support.stream import EndOfStream


class RequestCase(GatewayCase):
    def post(self, body: Any, target: str = "/v1/tools/call", token: str | None = None) -> Response:
        return self.gateway.fetch("POST", target, token or self.gateway.caller_token(), body=body)

    def assert_answer(
        self, response: Response, status: int, code: str, call_id: str | None = None
    ) -> None:
        body = response.json()
        self.assertEqual(response.status, status, body)
        check_response(body)
        self.assertEqual((body["status"], body["error"]["code"]), ("error", code), body)
        if call_id is not None:
            self.assertEqual(body["call_id"], call_id)


class FormTest(RequestCase):
    def test_what_is_not_one_json_object_in_utf_8_is_400(self) -> None:
        good = json.dumps(call_request("t")).encode()
        for body in (
            b"",
            b"{",
            b"[]",
            b"5",
            b"null",
            good + b"x",
            good + good,
            good[:-1] + b",}",
            b"\xff" + good,
            good.replace(b'"t"', b'"\xff"'),
            good.replace(b"v1", b"v\n1"),
            good.replace(b'"args": {}', b'"args": {"a":' + b"[" * 70 + b"]" * 70 + b"}"),
        ):
            with self.subTest(body[:60]):
                self.assert_answer(self.post(body), 400, "INVALID_ARGS")

    def test_depth_within_the_limit_passes(self) -> None:
        nested: Any = 1
        for _ in range(58):
            nested = [nested]
        self.assert_answer(self.post(call_request("nobody", {"a": nested})), 200, "TOOL_NOT_FOUND")

    def test_an_unknown_member_is_400_and_the_ids_are_told(self) -> None:
        for change in (
            {"extra": 1},
            {"Version": "v1"},
            {"context": {"agent_id": "a", "session_id": "s", "extra": "x"}},
        ):
            with self.subTest(change):
                request = call_request("t", call_id="c7", **change)
                response = self.post(request)
                self.assert_answer(response, 400, "INVALID_ARGS", "c7")
                self.assertEqual(response.json()["tool_name"], "t")

    def test_a_wrong_type_is_400(self) -> None:
        context = {"agent_id": "a", "session_id": "s"}
        for change in (
            {"version": 1},
            {"call_id": 5},
            {"tool_name": None},
            {"tenant_id": []},
            {"args": []},
            {"args": None},
            {"args": "x"},
            {"timeout_ms": "100"},
            {"timeout_ms": None},
            {"timeout_ms": 1.5},
            {"idempotency_key": 5},
            {"context": []},
            {"context": None},
            {"context": {**context, "agent_id": 5}},
            {"context": {**context, "trace_id": None}},
        ):
            with self.subTest(change):
                self.assert_answer(self.post(call_request("t") | change), 400, "INVALID_ARGS")

    def test_a_member_twice_is_400(self) -> None:
        good = json.dumps(call_request("t"))
        for twice in (
            good.replace('"version"', '"version": "v1", "version"', 1),
            good.replace('"agent_id"', '"agent_id": "b", "agent_id"', 1),
        ):
            with self.subTest(twice):
                self.assert_answer(self.post(twice.encode()), 400, "INVALID_ARGS")


class ValueTest(RequestCase):
    def test_a_missing_member_is_200_and_invalid(self) -> None:
        for missing in ("version", "call_id", "tool_name", "tenant_id", "args", "context"):
            with self.subTest(missing):
                self.assert_answer(
                    self.post(call_request("t", **{missing: ...})),
                    200,
                    "INVALID_ARGS",
                    "" if missing == "call_id" else None,
                )
        for context in ({"agent_id": "a"}, {"session_id": "s"}, {}):
            with self.subTest(context):
                self.assert_answer(
                    self.post(call_request("t", context=context)), 200, "INVALID_ARGS"
                )

    def test_blank_strings_wrong_versions_ranges_and_origins_are_200_and_invalid(self) -> None:
        context = {"agent_id": "a", "session_id": "s"}
        for change in (
            {"version": "v2"},
            {"version": ""},
            {"call_id": ""},
            {"call_id": " \t"},
            {"tool_name": " "},
            {"tenant_id": ""},
            {"context": {**context, "agent_id": " "}},
            {"context": {**context, "request_origin": "mood"}},
            {"timeout_ms": 0},
            {"timeout_ms": -1},
            {"timeout_ms": 120_001},
            {"call_id": "x" * 257},
            {"tenant_id": "x" * 257},
        ):
            with self.subTest(change):
                self.assert_answer(self.post(call_request("t") | change), 200, "INVALID_ARGS")

    def test_the_ends_of_every_range_pass(self) -> None:
        context = {
            "agent_id": "a",
            "session_id": "s",
            "platform": "",
            "channel_id": "c",
            "actor_id": "u",
            "isolation_key": "",
            "trace_id": "t",
        }
        # a millisecond may be over before it is known that there is no such tool
        short = self.post(call_request("nobody") | {"timeout_ms": 1})
        self.assertNotEqual(short.json()["error"]["code"], "INVALID_ARGS")
        for change in (
            {"timeout_ms": 120_000},
            {"call_id": "x" * 256},
            {"context": context},
            *(
                {"context": {**context, "request_origin": origin}}
                for origin in ("agent_turn", "cron", "operator", "system")
            ),
        ):
            with self.subTest(change):
                self.assert_answer(
                    self.post(call_request("nobody") | change), 200, "TOOL_NOT_FOUND"
                )

    def test_the_content_type_is_not_looked_at(self) -> None:
        body = json.dumps(call_request("nobody")).encode()
        for media in ("text/plain", "application/x-www-form-urlencoded"):
            response = self.gateway.fetch(
                "POST", "/v1/tools/call", self.gateway.caller_token(), {"Content-Type": media}, body
            )
            self.assert_answer(response, 200, "TOOL_NOT_FOUND")


class RouteTest(RequestCase):
    def test_without_a_good_token_it_is_401_in_the_response_schema(self) -> None:
        for token in ("0" * 64, "x"):
            self.assert_answer(self.post(call_request("t"), token=token), 401, "UNAUTHORIZED", "")
        response = self.gateway.fetch("POST", "/v1/tools/call", body=call_request("t"))
        self.assert_answer(response, 401, "UNAUTHORIZED", "")
        for method, target in (("GET", "/v1/tools"), ("POST", "/v1/tools/cancel")):
            body = self.gateway.fetch(method, target, body={} if method == "POST" else None).json()
            self.assertEqual(body.keys(), {"error", "code"})

    def test_a_principal_without_the_caller_role_may_not_call(self) -> None:
        body = self.post(call_request("t"), token=self.gateway.pair("worker", ("device",))).json()
        check_response(body)
        self.assertIn(body["error"]["code"], ("FORBIDDEN", "TOOL_NOT_FOUND"))

    def test_other_methods_are_405_with_allow_head_too(self) -> None:
        for target, allow in (
            ("/v1/tools", "GET"),
            ("/v1/tools/call", "POST"),
            ("/v1/tools/cancel", "POST"),
        ):
            for method in {"GET", "POST", "HEAD", "PUT"} - {allow}:
                with self.subTest(method=method, target=target):
                    response = self.gateway.fetch(method, target, self.gateway.caller_token())
                    self.assertEqual((response.status, response.headers["allow"]), (405, allow))
                    if method == "HEAD":
                        continue
                    if target == "/v1/tools/call":
                        self.assert_answer(response, 405, "INVALID_ARGS", "")
                    else:
                        self.assertEqual(response.json().keys(), {"error", "code"})

    def test_options_tell_what_is_allowed_without_a_credential(self) -> None:
        for target, allow in (("/v1/tools", "GET"), ("/healthz", "GET, HEAD")):
            response = self.gateway.fetch("OPTIONS", target)
            self.assertEqual(
                (response.status, response.headers["allow"]), (204, f"{allow}, OPTIONS")
            )
            self.assertNotIn("access-control-allow-origin", response.headers)
        for target in ("/v1/nothing", "/metrics"):
            self.assertEqual(self.gateway.fetch("OPTIONS", target).status, 404, target)

    def test_paths_match_exactly_and_unknown_ones_are_404(self) -> None:
        for target in (
            "/v1/tools/",
            "/v1/tools/call/",
            "/v1//tools",
            "/V1/tools",
            "/v1/tools/unknown",
            "/v1",
            "/v1/peers",
            "/v1/leases",
        ):
            with self.subTest(target):
                response = self.gateway.fetch("GET", target, self.gateway.caller_token())
                self.assertEqual(response.status, 404)
                self.assertEqual(response.json().keys(), {"error", "code"})
        self.assertEqual(
            self.gateway.fetch("GET", "/v1/tools?unknown=1", self.gateway.caller_token()).status,
            200,
        )

    def test_discovery_is_sorted_and_complete(self) -> None:
        device = self.open()
        names = sorted(self.unique(name) for name in ("b", "a", "C"))
        device.register(
            *(
                tool(name, {"type": "object", "title": name}, timeout_ms=250, max_timeout_ms=500)
                for name in reversed(names)
            )
        )
        tools = self.gateway.tools()
        self.assertLessEqual(set(names), tools.keys())
        for name in names:
            self.assertEqual(tools[name]["input_schema"], {"type": "object", "title": name})
            self.assertEqual(
                (tools[name]["timeout_ms_default"], tools[name]["timeout_ms_max"]), (250, 500)
            )
            self.assertEqual(
                (tools[name]["idempotent"], tools[name]["side_effects"]), (False, True)
            )  # nothing was declared
        for shown in self.gateway.admin_request("GET", "/v1/admin/tools").json()["tools"]:
            if shown["name"] in names:
                self.assertTrue(shown["side_effects"], "the operator's list says the same")

    def test_the_admin_socket_has_the_same_discovery(self) -> None:
        response = self.gateway.admin_request("GET", "/v1/tools")
        check_discovery(response.json())

    def test_health_is_on_both_listeners_and_metrics_are_for_operators(self) -> None:
        self.assertEqual(self.gateway.admin_request("GET", "/healthz").json()["ok"], True)
        metrics = self.gateway.admin_request("GET", "/metrics")
        self.assertEqual(metrics.status, 200)
        self.assertTrue(metrics.headers["content-type"].startswith("text/plain"))
        self.assertIn(b"# TYPE crab_", metrics.body)
        self.assertEqual(self.gateway.admin_request("GET", "/readyz").status, 200)
        for target in ("/healthz", "/readyz"):  # a gateway is itself a tool host
            self.assertEqual(self.gateway.fetch("GET", target).json(), {"ok": True}, target)
        # To callers the public listener has no such path (clawseed, section 8); a scraper brings a
        # token with the role metrics.
        self.assertEqual(
            self.gateway.fetch("GET", "/metrics", self.gateway.caller_token()).status, 404
        )

    def test_a_foreign_host_or_origin_is_refused(self) -> None:
        headers = {"Authorization": f"Bearer {self.gateway.caller_token()}"}
        self.assertEqual(
            fetch(self.gateway.public, "GET", "/v1/tools", headers, host="evil.example").status, 403
        )
        self.assertEqual(
            self.gateway.fetch(
                "GET", "/v1/tools", headers={**headers, "Origin": "https://evil.example"}
            ).status,
            403,
        )


class LimitTest(RequestCase):
    CONFIG = {"limits": {"request_body_bytes": 4096}}

    def test_a_body_at_the_limit_passes_and_one_beyond_it_is_413_without_being_read(self) -> None:
        request = call_request("nobody", {"pad": ""})
        room = 4096 - len(json.dumps(request, separators=(",", ":")))
        request["args"]["pad"] = "x" * room
        self.assert_answer(self.post(request), 200, "TOOL_NOT_FOUND")
        request["args"]["pad"] += "x"
        self.assert_answer(self.post(request), 413, "INVALID_ARGS")
        with HttpConnection(self.gateway.public) as connection:  # only the head is sent
            connection.send_raw(
                b"POST /v1/tools/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n"
                b"Authorization: Bearer %s\r\n\r\n" % self.gateway.caller_token().encode()
            )
            self.assertEqual(connection.receive().status, 413)

    def test_a_chunked_body_beyond_the_limit_is_413(self) -> None:
        with HttpConnection(self.gateway.public) as connection:
            connection.send_raw(
                b"POST /v1/tools/call HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
                b"Authorization: Bearer %s\r\n\r\n" % self.gateway.caller_token().encode()
            )
            connection.send_raw(b"1000\r\n" + b" " * 4096 + b"\r\n1000\r\n" + b" " * 4096 + b"\r\n")
            self.assertEqual(connection.receive().status, 413)

    def test_a_header_block_beyond_16_kib_is_431(self) -> None:
        with HttpConnection(self.gateway.public) as connection:
            try:
                connection.send_raw(
                    b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
                    + b"X-Pad: "
                    + b"x" * 20_000
                    + b"\r\n\r\n"
                )
                self.assertEqual(connection.receive().status, 431)
            except EndOfStream as end:
                self.fail(f"closed without an answer: {end}")

    def test_whatever_http_refuses_of_a_call_has_its_response_schema(self) -> None:
        line = b"POST /v1/tools/call HTTP/1.1\r\n"
        host = line + b"Host: localhost\r\n"
        token = self.gateway.caller_token().encode()
        head = host + b"Authorization: Bearer %s\r\n" % token
        refused = {
            "two lengths": (400, head + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n"),
            "no host": (400, line + b"\r\n"),
            "a folded field": (400, head + b"X: a\r\n b\r\n\r\n"),
            "a bad chunk": (400, head + b"Transfer-Encoding: chunked\r\n\r\nnonsense\r\n"),
            "no body": (400, head + b"\r\n"),
            "a coded body": (
                400,
                head + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b",
            ),
            "nobody": (401, host + b"Content-Length: 2\r\n\r\n{}"),
            "another method": (405, head.replace(b"POST", b"PUT") + b"\r\n"),
            "a large body": (413, head + b"Content-Length: 1000000000\r\n\r\n"),
            "a long target": (414, host.replace(b"call ", b"call?" + b"x" * 9000 + b" ") + b"\r\n"),
            "an expectation": (417, head + b"Expect: a-pony\r\n\r\n"),
            "many fields": (431, head + b"X: y\r\n" * 80 + b"\r\n"),
            "a long field": (431, head + b"X: " + b"x" * 20_000 + b"\r\n\r\n"),
            "a long trailer": (
                431,
                head + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"x" * 20_000 + b"\r\n\r\n",
            ),
            "an unknown coding": (501, head + b"Transfer-Encoding: gzip\r\n\r\n"),
            "another version": (505, line.replace(b"1.1", b"2.0") + b"\r\n"),
        }
        for accept in (b"", b"Accept: text/event-stream\r\n"):
            for what, (status, data) in refused.items():
                with self.subTest(what, accept=accept):
                    with HttpConnection(self.gateway.public) as connection:
                        connection.send_raw(data.replace(b"\r\n", b"\r\n" + accept, 1))
                        answer = connection.receive()
                    code = "UNAUTHORIZED" if status == 401 else "INVALID_ARGS"
                    self.assert_answer(answer, status, code, "")
        with HttpConnection(self.gateway.public) as connection:
            connection.send_raw(host.replace(b"tools/call", b"tools/call/") + b"Expect: a\r\n\r\n")
            answer = connection.receive()
            self.assertEqual((answer.status, answer.json()["code"]), (417, "INVALID_ARGS"))

    def test_what_could_smuggle_a_second_request_is_400_and_closed(self) -> None:
        head = b"POST /v1/tools/call HTTP/1.1\r\nHost: localhost\r\n"
        broken = {
            "two lengths": head + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
            "length and chunks": head
            + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "a length that is no number": head + b"Content-Length: +2\r\n\r\n{}",
            "space before the colon": head + b"Content-Length : 2\r\n\r\n{}",
            "folded header": head + b"X: a\r\n b\r\n\r\n",
            "two hosts": b"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
            "no host": b"GET /health HTTP/1.1\r\n\r\n",
            "bare line feeds": b"GET /health HTTP/1.1\nHost: localhost\n\n",
            "control character": b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n",
            "unknown coding": head + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        }
        for what, data in broken.items():
            with self.subTest(what), HttpConnection(self.gateway.public) as connection:
                connection.send_raw(data)
                self.assertIn(connection.receive().status, (400, 501))
                self.assertEqual(connection.stream.read_to_end(), b"")


class OriginTest(RequestCase):
    """Pages of other origins: those of the configuration may read answers, others nothing."""

    GOOD, FOREIGN = "https://app.example", "https://evil.example"
    CONFIG = {"listen": {"allowed_origins": [GOOD]}}
    PREFLIGHT = {"Access-Control-Request-Method": "POST"}

    def ask(self, method: str, target: str, origin: str, **headers: str) -> Response:
        token = None if method == "OPTIONS" else self.gateway.caller_token()
        return self.gateway.fetch(method, target, token, {"Origin": origin, **headers})

    def test_an_allowed_page_may_send_a_token_and_read_the_answer(self) -> None:
        asked = self.ask("OPTIONS", "/v1/tools/call", self.GOOD, **self.PREFLIGHT)
        self.assertEqual(asked.status, 204)
        self.assertEqual(asked.headers["access-control-allow-origin"], self.GOOD)
        self.assertEqual(asked.headers["access-control-allow-methods"], "POST")
        self.assertIn("Authorization", asked.headers["access-control-allow-headers"])
        for answer in (asked, self.ask("GET", "/v1/tools", self.GOOD)):
            self.assertEqual(answer.headers["vary"], "Origin")
            self.assertNotIn("access-control-allow-credentials", answer.headers)
        self.assertEqual(
            self.gateway.fetch("GET", "/v1/tools", headers={"Origin": self.GOOD}).headers[
                "access-control-allow-origin"
            ],
            self.GOOD,
            "the page may read why it is refused",
        )

    def test_a_foreign_page_gets_nothing(self) -> None:
        for origin in (self.FOREIGN, "null", self.GOOD + ".evil.example", self.GOOD + ":8443"):
            for method in ("OPTIONS", "GET"):
                answer = self.ask(method, "/v1/tools", origin, **self.PREFLIGHT)
                self.assertEqual(answer.status, 403, (origin, method))
                self.assertFalse(
                    [name for name in answer.headers if name.startswith("access-control-")]
                )

    def test_what_nobody_has_to_prove_is_shared_with_nobody(self) -> None:
        for origin in (self.GOOD, self.FOREIGN):
            answer = self.ask("OPTIONS", "/healthz", origin, **self.PREFLIGHT)
            self.assertEqual(answer.status, 204)
            self.assertNotIn("access-control-allow-origin", answer.headers)
