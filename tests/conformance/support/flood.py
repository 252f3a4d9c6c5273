"""Ways of beginning a connection and never getting on with it, for every kind of listener."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

Address = tuple[str, int] | Path

_CLIENT_HELLO = bytes.fromhex("1603010200010001fc0303")  # the first bytes of 517
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_SETTINGS = bytes(3) + b"\x04\x00" + bytes(4)
_HALF_HEADERS = bytes([0, 0, 1, 1, 0, 0, 0, 0, 1, 0x83])  # :method POST, and no END_HEADERS


def connect(address: Address) -> socket.socket:
    kind = socket.AF_UNIX if isinstance(address, Path) else socket.AF_INET
    link = socket.socket(kind, socket.SOCK_STREAM)
    link.settimeout(5)
    link.connect(str(address) if isinstance(address, Path) else address)
    return link


def _send(link: socket.socket, data: bytes) -> None:
    with contextlib.suppress(OSError):
        link.sendall(data)


def nothing(address: Address) -> socket.socket:
    return connect(address)


def reset(address: Address) -> socket.socket:
    link = connect(address)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    link.close()
    return link


def half_hello(address: Address) -> socket.socket:
    link = connect(address)
    _send(link, _CLIENT_HELLO)
    return link


def half_head(address: Address) -> socket.socket:
    link = connect(address)
    _send(link, b"POST /v1/tools/call HTTP/1.1\r\nHost: loc")
    return link


def stranger_s_body(address: Address) -> socket.socket:
    """A head without a credential, and half of a body."""
    link = connect(address)
    _send(
        link,
        b"POST /v1/tools/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
        + b"x" * 1000,
    )
    return link


def half_preface(address: Address) -> socket.socket:
    link = connect(address)
    _send(link, _PREFACE[:10])
    return link


def half_headers(address: Address) -> socket.socket:
    link = connect(address)
    _send(link, _PREFACE + _SETTINGS + _HALF_HEADERS)
    return link


def _context(protocol: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols([protocol])
    return context


def over_tls(first: bytes, protocol: str = "http/1.1") -> Callable[[Address], socket.socket]:
    """A whole handshake, without a certificate, and then these bytes."""
    context = _context(protocol)

    def begin(address: Address) -> socket.socket:
        link = connect(address)
        with contextlib.suppress(OSError):
            link = context.wrap_socket(link)
            link.sendall(first)
        return link

    begin.__name__ = f"over_tls({first[:12]!r})"
    return begin


def call_fields(token: str) -> bytes:
    """The header block of a gRPC call; its fields are literal (RFC 7541, 6.2.2)."""
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": "/sw4rm.tool.ToolService/Call",
        ":authority": "localhost",
        "content-type": "application/grpc",
        "te": "trailers",
        "authorization": f"Bearer {token}",
    }
    return b"".join(
        b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
        for name, value in fields.items()
    )


def _call_head(token: str, flags: int) -> bytes:
    """The frame that begins a gRPC call."""
    block = call_fields(token)
    return len(block).to_bytes(3, "big") + bytes([1, flags]) + (1).to_bytes(4, "big") + block


_END_STREAM, _END_HEADERS = 1, 4


def idle(
    token: str, protocol: str = "http/1.1", tls: bool = False
) -> Callable[[Address], socket.socket]:
    """A caller's connection, one request of which was answered well; then it stays."""
    get = f"GET /v1/tools HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
    call = _PREFACE + _SETTINGS + _call_head(token, _END_STREAM | _END_HEADERS)

    def begin(address: Address) -> socket.socket:
        link = connect(address)
        try:
            if tls:
                link = _context(protocol).wrap_socket(link)
            link.sendall(call if protocol == "h2" else get.encode())
            if not is_answered(link, protocol):
                raise OSError("it was not answered")
        except OSError:
            link.close()
            raise
        return link

    begin.__name__ = f"idle({protocol})"
    return begin


def unfinished_call(token: str) -> bytes:
    """A gRPC call whose message does not come."""
    return _PREFACE + _SETTINGS + _call_head(token, _END_HEADERS)


def busy(name: str, ask: Callable[[], bytes]) -> Callable[[Address], socket.socket]:
    """A connection that sends this and then waits."""

    def begin(address: Address) -> socket.socket:
        link = connect(address)
        link.sendall(ask())
        return link

    begin.__name__ = name
    return begin


def is_answered(link: socket.socket, protocol: str) -> bool:
    """Whether an answer begins here: over HTTP/1.1 a good one, over gRPC any to a stream."""
    if protocol == "http/1.1":
        return link.recv(12) == b"HTTP/1.1 200"
    with link.makefile("rb") as stream:
        while len(head := stream.read(9)) == 9:
            stream.read(int.from_bytes(head[:3], "big"))
            if head[3] == 1:  # HEADERS
                return True
    return False


PLAIN = (nothing, reset, half_hello, half_head, stranger_s_body)
TLS = (
    nothing,
    reset,
    half_hello,
    half_head,
    over_tls(b""),
    over_tls(b"POST / HTTP/1.1\r\nHo"),
    over_tls(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"),
)
HTTP2 = (nothing, reset, half_hello, half_preface, half_headers)
HTTP2_TLS = (
    nothing,
    reset,
    half_hello,
    over_tls(b"", "h2"),
    over_tls(_PREFACE[:10], "h2"),
    over_tls(_PREFACE + _SETTINGS + _HALF_HEADERS, "h2"),
)


@contextlib.contextmanager
def flood(
    address: Address, way: Callable[[Address], socket.socket], count: int
) -> Iterator[list[socket.socket]]:
    """`count` such connections, which stay open until the end of the block as far as that is ours
    to say."""
    links: list[socket.socket] = []
    try:
        for _ in range(count):
            with contextlib.suppress(OSError):  # the other side may have had enough
                links.append(way(address))
        yield links
    finally:
        for link in links:
            link.close()
