"""A paired tool host (docs/protocols/rtp.md, sections 3 to 6): pairs, then serves tools over mutual
TLS on the same port.

    with MtlsToolHost(gateway_key, "memory", host_tool("read")) as host:
        ...  # pair the gateway with host.endpoint; from then on it shows the issued certificate
        host.calls, host.behave   # as support.tool_host.ToolHost has them
        host.connections          # what came on each connection, pairings included
"""
import contextlib
import json
import socket
import ssl
import tempfile
from pathlib import Path

from pairing_remote import PairingRemote, _WebSocket, openssl


class _Replayed:
    """A connection whose first bytes have been read already."""

    def __init__(self, connection, first):
        self._connection, self._first = connection, first

    def recv(self, count):
        if self._first:
            part, self._first = self._first[:count], self._first[count:]
            return part
        return self._connection.recv(count)

    def sendall(self, data):
        self._connection.sendall(data)


class Connection:
    """What is known of one connection: the gateway's certificate (DER), the first bytes, whether it
    has ended."""

    def __init__(self, link):
        self.link, self.certificate, self.first, self.tls, self.ended = link, None, b"", None, False


class MtlsToolHost(PairingRemote):
    def __init__(self, gateway_key, component_id, *tools, **options):
        super().__init__(gateway_key, component_id, tls=True, **options)
        self.tools = list(tools)
        self.behave = lambda request: request.answer()
        self.calls, self.connections, self.lists, self.cancels = [], [], 0, []

    def answer(self, message):
        answers = super().answer(message)
        if message["type"] == "pair.csr_issued":  # shown from pair.csr_installed on
            self.show_issued()
        return answers

    def show(self, certificate, key):
        """Shows another certificate on new connections."""
        (self.folder / "other.pem").write_text(Path(certificate).read_text())
        (self.folder / "other.key").write_text(Path(key).read_text())
        self.shown, self.key_file = self.folder / "other.pem", self.folder / "other.key"

    key_file = None

    def drop_connections(self):
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.link.shutdown(socket.SHUT_RDWR)

    def _serve(self, connection):
        known = Connection(connection)
        self.connections.append(known)
        connection.settimeout(30)
        try:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.maximum_version = self.newest_tls
            context.load_cert_chain(self.shown, self.key_file or self.folder / "shown.key")
            if self.client_certificate_required:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(cadata=self.chain_pem)
            link = known.link = context.wrap_socket(connection, server_side=True)
            known.tls, known.certificate = link.version(), link.getpeercert(binary_form=True)
            known.first = link.recv(4096)
            if not known.first:
                return
            while b"\r\n\r\n" not in known.first:
                known.first += link.recv(4096)
            if b"upgrade: websocket" in known.first.lower():
                self._talk(_WebSocket(_Replayed(link, known.first), self.paths, self.refuse_path))
            else:
                self._serve_requests(link, known.first)
        except (OSError, ValueError) as error:
            self.failures.append(error)
        finally:
            known.ended = True
            self.ended.release()
            known.link.close()

    def _serve_requests(self, link, buffer):
        from support.tool_host import Request, http  # the process tests have it on their path

        while True:
            while b"\r\n\r\n" not in buffer:
                part = link.recv(65536)
                if not part:
                    return
                buffer += part
            head, buffer = buffer.split(b"\r\n\r\n", 1)
            lines = head.decode().split("\r\n")
            method, target, _ = lines[0].split(" ")
            headers = {
                name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])
            }
            while len(buffer) < int(headers.get("content-length", "0")):
                buffer += link.recv(65536)
            length = int(headers.get("content-length", "0"))
            body, buffer = buffer[:length], buffer[length:]
            if (method, target) == ("GET", "/v1/tools"):
                self.lists += 1
                link.sendall(
                    http(
                        200,
                        json.dumps(
                            {"version": "v1", "service": "test", "tools": self.tools}
                        ).encode(),
                    )
                )
            elif (method, target) == ("POST", "/v1/tools/call"):
                self.calls.append(Request(link, headers, json.loads(body)))
                self.behave(self.calls[-1])
            elif (method, target) == ("POST", "/v1/tools/cancel"):
                self.cancels.append(json.loads(body))
                link.sendall(
                    http(
                        200,
                        json.dumps(
                            {
                                "version": "v1",
                                "call_id": self.cancels[-1]["call_id"],
                                "status": "cancelling",
                            }
                        ).encode(),
                    )
                )
            else:
                link.sendall(http(404, b"{}"))


class Forger:
    """Makes certificates that are almost right, from an authority of its own or from that of a
    gateway's state folder."""

    def __init__(self, state=None):
        self._folder = tempfile.TemporaryDirectory(prefix="crab-forger-")
        self.folder = Path(self._folder.name)
        self._count = 0
        if state is None:
            self.ca, self.ca_key = self.folder / "ca.pem", self.folder / "ca.key"
            openssl(
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
                "-keyout",
                str(self.ca_key),
                "-out",
                str(self.ca),
                "-subj",
                "/CN=another authority",
                "-days",
                "30",
            )
        else:
            self.ca, self.ca_key = (
                Path(state) / "pairing_ca_cert.pem",
                Path(state) / "pairing_ca_key.pem",
            )

    def close(self):
        self._folder.cleanup()

    def make(self, name, start="20260101000000Z", end="20451231000000Z", self_signed=False):
        """(certificate file, key file) with this name, a URI or such as `IP:127.0.0.1`; empty:
        somebody's host name."""
        self._count += 1
        here = self.folder / str(self._count)
        here.mkdir()
        alternative = "URI:" + name if name.startswith("crab:") else name or "DNS:nobody.example"
        key, request, certificate = here / "leaf.key", here / "leaf.csr", here / "leaf.pem"
        openssl(
            "req",
            "-new",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-keyout",
            str(key),
            "-out",
            str(request),
            "-subj",
            "/CN=forged",
        )
        (here / "index.txt").write_text("")
        (here / "serial").write_text(f"7{self._count:03x}\n")
        (here / "ca.cnf").write_text(
            f"[ca]\ndefault_ca=own\n[own]\ndatabase={here}/index.txt\nserial={here}/serial\n"
            f"new_certs_dir={here}\ndefault_md=sha256\n"
            f"policy=any\nx509_extensions=leaf\n[any]\ncommonName=supplied\n"
            f"[leaf]\nbasicConstraints=CA:FALSE\nkeyUsage=critical,"
            f"digitalSignature\nextendedKeyUsage=clientAuth,serverAuth\n"
            f"subjectAltName={alternative}\n"
        )
        signer = (
            ["-selfsign", "-keyfile", str(key)]
            if self_signed
            else ["-cert", str(self.ca), "-keyfile", str(self.ca_key)]
        )
        openssl(
            "ca",
            "-batch",
            "-notext",
            "-config",
            str(here / "ca.cnf"),
            "-in",
            str(request),
            "-out",
            str(certificate),
            "-startdate",
            start,
            "-enddate",
            end,
            *signer,
        )
        return certificate, key
