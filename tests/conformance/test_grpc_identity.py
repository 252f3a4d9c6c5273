"""docs/protocols/sw4rm.md, section 2: who calls over gRPC, by a paired peer's certificate or as a
user of this machine."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import grpc
from support.certificates import self_signed
from support.gateway import Gateway
from support.tool_service import ToolServiceClient, tool_call
from test_grpc import GrpcCase, Status

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from pairing_remote import PairingRemote  # noqa: E402


class CertificateTest(GrpcCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="crab-grpc-")))
        cls.cert, cls.key = self_signed(folder)
        cls.CONFIG = {
            "grpc": {"listen": "127.0.0.1:0", "tls": {"cert": str(cls.cert), "key": str(cls.key)}},
            "peers": [
                {"id": "subscriber/ann", "role": "caller"},
                {"id": "subscriber/bob", "role": "caller"},
            ],
        }
        super().setUpClass()

    def over_tls(
        self, key: bytes | None = None, certificate: bytes | None = None, token: str | None = None
    ) -> ToolServiceClient:
        credentials = grpc.ssl_channel_credentials(self.cert.read_bytes(), key, certificate)
        client = ToolServiceClient(self.gateway.grpc, token, credentials=credentials)
        self.addCleanup(client.close)
        return client

    def paired(self, name: str) -> PairingRemote:
        key = self.gateway.admin_request("GET", "/v1/identity").json()["public_key_ed25519"]
        remote = PairingRemote(key, name, "subscriber")
        self.addCleanup(remote.__exit__)
        remote.__enter__()
        body = {
            "component_type": "subscriber",
            "component_id": remote.component_id,
            "endpoint": remote.endpoint,
        }
        answer = self.gateway.admin_request("POST", "/v1/pairings", body, timeout=25)
        self.assertEqual(answer.status, 200, answer.body)
        return remote

    def with_certificate(
        self, remote: PairingRemote, token: str | None = None
    ) -> ToolServiceClient:
        return self.over_tls(
            (remote.folder / "csr.key").read_bytes(), remote.certificate_pem.encode(), token
        )

    def call(self, client: ToolServiceClient, **options: Any) -> Any:
        return client.call(tool_call("list_devices"), **options)

    def test_sw4rm_57_a_paired_certificate_is_enough_and_a_bad_token_over_it_is_not(self) -> None:
        remote = self.paired("ann")
        client = self.with_certificate(remote)
        self.assertTrue(self.call(client).final)
        self.refused(
            Status.UNAUTHENTICATED,
            "UNAUTHENTICATED",
            lambda: self.call(client, metadata={"authorization": "Bearer " + "0" * 64}),
        )
        self.assertTrue(self.call(client).final)
        self.refused(Status.UNAUTHENTICATED, "UNAUTHENTICATED", lambda: self.call(self.over_tls()))

    def test_a_certificate_of_nobody_is_refused_and_a_token_beside_it_counts(self) -> None:
        stranger = self.over_tls(self.key.read_bytes(), self.cert.read_bytes())
        self.refused(Status.UNAUTHENTICATED, "UNAUTHENTICATED", lambda: self.call(stranger))
        self.assertTrue(
            self.call(
                self.over_tls(
                    self.key.read_bytes(), self.cert.read_bytes(), self.gateway.caller_token()
                )
            ).final
        )

    def test_a_peer_that_is_no_caller_sees_no_tool(self) -> None:
        client = self.with_certificate(self.paired("eve"))
        self.assertEqual(list(client.describe().tools), [])
        self.refused(Status.NOT_FOUND, "NOT_FOUND", lambda: self.call(client))

    def test_a_peer_that_is_revoked_is_refused_on_the_connection_it_has(self) -> None:
        remote = self.paired("bob")
        client = self.with_certificate(remote)
        self.assertTrue(self.call(client).final)
        answer = self.gateway.admin_request(
            "POST", f"/v1/peers/subscriber/{remote.component_id}/revoke", {"reason": "test"}
        )
        self.assertEqual(answer.status, 200, answer.body)
        self.refused(Status.PERMISSION_DENIED, "PERMISSION_DENIED", lambda: self.call(client))


class UnixSocketTest(GrpcCase):
    CONFIG: dict[str, Any] = {}

    def test_the_gateways_own_user_needs_no_token_on_its_socket(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="crab-grpc-"))
        path = f"{folder}/grpc.sock"
        with Gateway({"grpc": {"listen": "127.0.0.1:0", "unix": path}}) as gateway:
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
            client = ToolServiceClient(f"unix:{path}")
            self.addCleanup(client.close)
            request = tool_call("list_devices", call_id="local-call")
            self.assertTrue(client.call(request).final)
            self.assertIn(
                f"local/{os.getuid()}", gateway.crab("calls", "show", "local-call", "-o", "json")
            )
            bad = {"authorization": "Bearer " + "0" * 64}
            self.refused(
                Status.UNAUTHENTICATED,
                "UNAUTHENTICATED",
                lambda: client.call(tool_call("list_devices"), metadata=bad),
            )
            over_tcp = ToolServiceClient(gateway.grpc)
            self.addCleanup(over_tcp.close)
            self.refused(
                Status.UNAUTHENTICATED,
                "UNAUTHENTICATED",
                lambda: over_tcp.call(tool_call("list_devices")),
            )
        self.assertFalse(os.path.exists(path))
