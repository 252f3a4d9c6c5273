"""A D-Bus client of a few lines (D-Bus Specification 0.41): enough to call a provider without a
bridge in between."""

import os
import socket
import struct


def _padded(data, to):
    return data + b"\0" * (-len(data) % to)


def _string(text):
    raw = text.encode()
    return struct.pack("<I", len(raw)) + raw + b"\0"


class DBusClient:
    """One connection; one call at a time."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(path))
        self._socket.sendall(
            b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n"
        )
        self._line()
        self._socket.sendall(b"BEGIN\r\n")
        self._serial = 0
        self.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello")

    def close(self):
        self._socket.close()

    def call(self, name, path, interface, member, signature="", body=b""):
        """Sends a call with a body that is marshalled already, and waits for its answer.
        RuntimeError for an error."""
        self._serial += 1
        fields = b""
        for code, kind, value in (
            (1, b"o", path),
            (2, b"s", interface),
            (3, b"s", member),
            (6, b"s", name),
        ):
            fields = _padded(fields, 8) + bytes([code, 1]) + kind + b"\0" + _string(value)
        if signature:
            fields = (
                _padded(fields, 8)
                + bytes([8, 1])
                + b"g\0"
                + bytes([len(signature)])
                + signature.encode()
                + b"\0"
            )
        head = struct.pack("<cBBBIII", b"l", 1, 0, 1, len(body), self._serial, len(fields))
        self._socket.sendall(_padded(head + fields, 8) + body)
        while True:
            kind, serial, answer = self._message()
            if serial == self._serial and kind in (2, 3):
                if kind == 3:
                    raise RuntimeError(f"{name} answers {member} with an error")
                return answer

    def call_provider(self, name, path, tool):
        """`execute_tool` of CETP, without arguments."""
        entries = b""
        for key, value in (("tool_name", tool), ("args", "{}")):
            entries = _padded(entries, 8) + _string(key)
            entries += b"\1s\0"
            entries = _padded(entries, 4) + _string(value)
        body = _padded(_string("execute_tool"), 4)
        length = struct.pack("<I", len(entries))
        return self.call(
            name,
            path,
            "com.clawseed.Cetp.Provider1",
            "Call",
            "sa{sv}",
            _padded(body + length, 8) + entries,
        )

    def _line(self):
        line = b""
        while not line.endswith(b"\r\n"):
            line += self._exactly(1)
        if not line.startswith(b"OK"):
            raise RuntimeError(f"the bus refuses: {line!r}")

    def _message(self):
        """(type, serial that it answers, body)."""
        head = self._exactly(16)
        _, kind, _, _, length, _, fields = struct.unpack("<cBBBIII", head)
        rest = self._exactly(fields + (-fields % 8) + length)
        serial, at = 0, 0
        while at < fields:
            at += -at % 8
            code, signature_length = rest[at], rest[at + 1]
            signature = rest[at + 2 : at + 2 + signature_length]
            at += 3 + signature_length
            if signature in (b"s", b"o"):
                at += -at % 4
                at += 5 + struct.unpack_from("<I", rest, at)[0]
            elif signature == b"g":
                at += 2 + rest[at]
            else:  # numbers of 32 bits
                at += -at % 4
                if code == 5:
                    serial = struct.unpack_from("<I", rest, at)[0]
                at += 4
        return kind, serial, rest[len(rest) - length :]

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            part = self._socket.recv(count - len(data))
            if not part:
                raise RuntimeError("the bus is gone")
            data += part
        return data
