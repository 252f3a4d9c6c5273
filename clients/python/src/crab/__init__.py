"""crab for Python: devices, tool hosts and callers of a crab gateway."""

from .client import CallResult, Explanation, Frame, Progress, ToolClient, ToolInfo
from .device import Device, DeviceEnd, DeviceEvent
from .errors import CallFailed, CrabError, GatewayError, InvalidArgs, PairingError, ToolError
from .host import ToolHost
from .pairing import pair, pair_async, pair_key, pair_key_async
from .tools import Blob, Caller, Tool, ToolCall

__all__ = [
    "Blob",
    "CallFailed",
    "CallResult",
    "Caller",
    "CrabError",
    "Device",
    "DeviceEnd",
    "DeviceEvent",
    "Explanation",
    "Frame",
    "GatewayError",
    "InvalidArgs",
    "PairingError",
    "Progress",
    "Tool",
    "ToolCall",
    "ToolClient",
    "ToolError",
    "ToolHost",
    "ToolInfo",
    "pair",
    "pair_async",
    "pair_key",
    "pair_key_async",
]
