"""crab for Python: devices and callers of a crab gateway."""

from .client import CallResult, Explanation, Frame, Progress, ToolClient, ToolInfo
from .device import Device, DeviceEnd, DeviceEvent
from .errors import CallFailed, CrabError, GatewayError, InvalidArgs, PairingError, ToolError
from .pairing import pair, pair_async
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
    "ToolInfo",
    "pair",
    "pair_async",
]
