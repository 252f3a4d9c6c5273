"""The gateway of docs/protocols/rtp.md, section 12, as the original plays it when it pairs a remote
over `wss`.

    gateway = OriginalGateway(folder, operator_ca=(ca_file, ca_key))
    pem = gateway.pair("127.0.0.1", port, "/v1/pair", "tool_host", "memory")   # the certificate
    that it issued

It ends every message with a line feed, copies the names of the request into the certificate (which
says nothing of basic constraints), and closes TCP right behind `pair.complete`, without a close
frame.
"""
import base64
import datetime
import hashlib
import json
import os
import socket
import ssl
import struct
from pathlib import Path

import libcrypto
from pairing_remote import b64, canonical, fingerprint, openssl


class RemoteError(Exception):
    """The remote sent `pair.error`."""

    def __init__(self, message: dict) -> None:
        super().__init__(f"{message['code']}: {message['message']}")
        self.code = message["code"]


class _Link:
    """The client's end of one WebSocket."""

    def __init__(self, connection: ssl.SSLSocket, path: str) -> None:
        self.connection = connection
        key = b64(os.urandom(16))
        connection.sendall(
            (
                f"GET {path} HTTP/1.1\r\nHost: remote\r\nUser-Agent: "
                f"Go-http-client/1.1\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
                "Sec-WebSocket-Version: 13\r\nUpgrade: websocket\r\n\r\n"
            ).encode()
        )
        self.stream = connection.makefile("rb")
        status = self.stream.readline()
        if b" 101 " not in status:
            raise ConnectionError(status.decode())
        while self.stream.readline().strip():
            pass

    def send(self, message: dict) -> None:
        data, mask = json.dumps(message).encode() + b"\n", os.urandom(4)
        size = (
            bytes([128 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack("!H", len(data))
        )
        self.connection.sendall(
            b"\x81" + size + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))
        )

    def receive(self, wanted: str) -> dict:
        first, second = self.stream.read(2)
        size = second & 127
        if size == 126:
            size = struct.unpack("!H", self.stream.read(2))[0]
        assert first == 0x81 and not second & 128, "a remote sends whole texts, unmasked"
        message = json.loads(self.stream.read(size))
        if message["type"] == "pair.error":
            raise RemoteError(message)
        assert message["type"] == wanted, f"{wanted} is next, not {message['type']}"
        return message


NEW_KEY = "-newkey ec -pkeyopt ec_paramgen_curve:P-256".split()


class OriginalGateway:
    def __init__(
        self, folder: Path, operator_ca: tuple[Path, Path], gateway_id: str = "gateway"
    ) -> None:
        self.folder, self.gateway_id, self.seed = folder, gateway_id, os.urandom(32)
        self.key = b64(libcrypto.ed25519_public(self.seed))
        self.pairing_ca = (folder / "pairing_ca.pem", folder / "pairing_ca.key")
        openssl(
            *"req -x509 -nodes".split(),
            *NEW_KEY,
            "-subj",
            f"/CN=crabstack-pairing-ca-{gateway_id}",
            "-keyout",
            str(self.pairing_ca[1]),
            "-out",
            str(self.pairing_ca[0]),
            "-addext",
            "basicConstraints=critical,CA:TRUE,pathlen:0",
            "-addext",
            "keyUsage=critical,digitalSignature,keyCertSign,cRLSign",
        )
        certificate, key, request = (folder / f"gateway.{end}" for end in ("pem", "key", "csr"))
        openssl(
            *"req -new -nodes -subj /CN=gateway".split(),
            *NEW_KEY,
            "-keyout",
            str(key),
            "-out",
            str(request),
        )
        openssl(
            *"x509 -req -in".split(),
            str(request),
            "-CA",
            str(operator_ca[0]),
            "-CAkey",
            str(operator_ca[1]),
            *"-days 30 -out".split(),
            str(certificate),
        )
        self.tls = ssl.SSLContext(
            ssl.PROTOCOL_TLS_CLIENT
        )  # it compares the host's name and knows both authorities
        self.tls.minimum_version = ssl.TLSVersion.TLSv1_3
        self.tls.load_verify_locations(
            cadata=operator_ca[0].read_text() + self.pairing_ca[0].read_text()
        )
        self.tls.load_cert_chain(certificate, key)

    def _signed(self, message: dict) -> dict:
        return {
            **message,
            "sig_ed25519": b64(libcrypto.ed25519_sign(self.seed, canonical(message))),
        }

    def _issue(self, csr_pem: str) -> dict:
        request, leaf, extensions = (self.folder / f"issued.{end}" for end in ("csr", "pem", "ext"))
        request.write_text(csr_pem)
        extensions.write_text(
            "keyUsage=critical,digitalSignature,keyEncipherment\nextendedKeyUsage=clientAuth,"
            "serverAuth\n"
        )
        serial = os.urandom(16).hex().lstrip("0")
        openssl(
            *"x509 -req -in".split(),
            str(request),
            "-CA",
            str(self.pairing_ca[0]),
            "-CAkey",
            str(self.pairing_ca[1]),
            *"-days 365 -set_serial".split(),
            f"0x{serial}",
            *"-copy_extensions copyall -extfile".split(),
            str(extensions),
            "-out",
            str(leaf),
        )
        pem = leaf.read_text()
        pem = pem[pem.index("-----BEGIN") :]
        dates = dict(
            line.split("=", 1)
            for line in openssl("x509", "-in", str(leaf), "-noout", "-dates").splitlines()
        )
        when = {
            name: datetime.datetime.strptime(text, "%b %d %H:%M:%S %Y GMT").strftime(
                "%Y-%m-%dT%H:%M:%SZ"
            )
            for name, text in dates.items()
        }
        return {
            "certificate_pem": pem,
            "certificate_chain_pem": [self.pairing_ca[0].read_text()],
            "serial_number": serial,
            "mtls_cert_fingerprint": fingerprint(pem),
            "not_before": when["notBefore"],
            "not_after": when["notAfter"],
        }

    def _challenge(self, link: "_Link", begin: dict, public_key_x25519: str) -> None:
        """Only who has the private key to that one can read what is asked back."""
        challenge_id, plaintext, ephemeral = (
            os.urandom(16).hex(),
            b64(os.urandom(32)),
            os.urandom(32),
        )
        aad = json.dumps(
            {
                "pairing_id": begin["pairing_id"],
                "challenge_id": challenge_id,
                "ephemeral_public_key_x25519": b64(libcrypto.x25519_public(ephemeral)),
            },
            separators=(",", ":"),
        ).encode()
        key = hashlib.sha256(
            libcrypto.x25519(ephemeral, base64.b64decode(public_key_x25519)) + aad
        ).digest()
        nonce = os.urandom(12)
        sealed = nonce + libcrypto.aes_256_gcm_seal(key, nonce, plaintext.encode(), aad)
        link.send(
            {
                "type": "pair.challenge",
                **begin,
                "challenge_id": challenge_id,
                "ciphertext": b64(sealed),
                "aad": b64(aad),
            }
        )
        assert link.receive("pair.challenge_response")["challenge_plaintext"] == plaintext

    def pair(self, host: str, port: int, path: str, component_type: str, component_id: str) -> str:
        """One handshake; the certificate that it issued, PEM. Errors: RemoteError; those of
        sockets, HTTP and TLS; AssertionError."""
        with self.tls.wrap_socket(
            socket.create_connection((host, port), 15), server_hostname=host
        ) as connection:
            shown, link = "sha256:" + hashlib.sha256(
                connection.getpeercert(binary_form=True)
            ).hexdigest(), _Link(connection, path)
            begin = {"version": "v1", "pairing_id": os.urandom(16).hex()}
            now = (
                datetime.datetime.now(datetime.timezone.utc)
                .strftime("%Y-%m-%dT%H:%M:%S.%f")
                .rstrip("0")
                .rstrip(".")
                + "Z"
            )
            link.send(
                self._signed(
                    {
                        "type": "pair.init",
                        **begin,
                        "gateway": {
                            "gateway_id": self.gateway_id,
                            "public_key_ed25519": self.key,
                            "nonce": b64(os.urandom(24)),
                            "issued_at": now,
                        },
                    }
                )
            )
            remote = link.receive("pair.identity")["remote"]
            assert (
                remote["component_type"],
                remote["component_id"],
                remote["mtls_cert_fingerprint"],
            ) == (component_type, component_id, shown), remote

            self._challenge(link, begin, remote["public_key_x25519"])
            issued = self._issue(link.receive("pair.csr_request")["csr_pem"])
            link.send(self._signed({"type": "pair.csr_issued", **begin, **issued}))
            assert (
                link.receive("pair.csr_installed")["mtls_cert_fingerprint"]
                == issued["mtls_cert_fingerprint"]
            )
            link.send({"type": "pair.complete", **begin, "status": "ok"})
            return issued["certificate_pem"]
