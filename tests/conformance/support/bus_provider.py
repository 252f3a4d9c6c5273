"""A provider on the session bus whose every reply a test decides, over libdbus: what the kit of
crab never sends, and what runs behind xdg-dbus-proxy. Run by the system's Python: bus_provider.py
NAME [PATH]. A tool's name says what it does; see `answer`."""

import os
import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

INTERFACE = "com.clawseed.Cetp.Provider1"
TOOLS = (
    "echo",
    "oversize",
    "exact",
    "number",
    "unsealed",
    "limited",
    "no_map",
    "unknown_method",
    "failed",
    "odd_keys",
    "auth",
)
MIB = 1 << 20


class Refused(dbus.DBusException):
    _dbus_error_name = "org.freedesktop.DBus.Error.LimitsExceeded"


class UnknownMethod(dbus.DBusException):
    _dbus_error_name = "org.freedesktop.DBus.Error.UnknownMethod"


class Failed(dbus.DBusException):
    _dbus_error_name = "org.example.Oops"


def success(data: object) -> dbus.Dictionary:
    return dbus.Dictionary({"status": "success", "data": data}, "sv")


def unsealed() -> dbus.Dictionary:
    file = os.memfd_create("x", os.MFD_CLOEXEC)
    os.write(file, b"not sealed")
    reply = dbus.Dictionary({"status": "success", "data_fd": dbus.types.UnixFd(file)}, "sv")
    os.close(file)
    return reply


def answer(tool: str, args: str) -> dbus.Dictionary:
    if tool == "oversize":
        return success("x" * (MIB + 1))
    if tool == "exact":
        return success("x" * MIB)
    if tool == "number":
        return success(dbus.Int32(7))
    if tool == "unsealed":
        return unsealed()
    if tool == "limited":
        raise Refused("too much")
    if tool == "unknown_method":
        raise UnknownMethod("what?")
    if tool == "failed":
        raise Failed("oops")
    if tool == "odd_keys":
        return dbus.Dictionary(
            {
                "status": "success",
                "data": "good",
                "colour": dbus.Array([dbus.Int32(1)], "i"),
                "when": dbus.UInt64(3),
            },
            "sv",
        )
    if tool == "auth":
        return dbus.Dictionary(
            {
                "status": "error",
                "error_code": "AUTH_REQUIRED",
                "error_message": "no consent",
                "resolution_hint": "Allow it",
                "authorize_intent": "allow-tools",
            },
            "sv",
        )
    return success(args)


def note(text: str) -> None:
    if path := os.environ.get("CETP_TEST_LOG"):
        with open(path, "a") as log:
            log.write(text + "\n")


class Provider(dbus.service.Object):
    @dbus.service.method(INTERFACE, "sa{sv}", "a{sv}")
    def Call(self, method: str, extras: dict) -> dbus.Dictionary:  # noqa: N802: the name on the bus
        tool = str(extras.get("tool_name", ""))
        note(f"{tool or method} {extras.get('request_id', '')}")
        if method == "list_tools":
            elements = ",".join(
                f'{{"name":"{name}","parameters":{{"type":"object"}}}}' for name in TOOLS
            )
            return success(f'{{"tools":[{elements}]}}')
        return answer(tool, str(extras.get("args", "{}")))

    @dbus.service.method("org.freedesktop.DBus.Properties", "ss", "v")
    def Get(self, interface: str, name: str) -> dbus.UInt32:  # noqa: N802
        return dbus.UInt32(os.environ.get("CETP_TEST_VERSION", "1"), variant_level=1)

    @dbus.service.method("org.freedesktop.Application", "sava{sv}", "")
    def ActivateAction(self, action: str, parameters: list, data: dict) -> None:  # noqa: N802
        note(f"action {action}")


def main() -> None:
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.SessionBus()
    name = sys.argv[1]
    path = "/" + name.replace(".", "/").replace("-", "_")
    provider = Provider(bus, path)  # before the name, so that nobody finds it without
    held = dbus.service.BusName(name, bus)
    GLib.MainLoop().run()
    del held, provider


main()
