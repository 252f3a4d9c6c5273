"""What goes wrong, as exceptions: the failure of a tool, and why a gateway could not be asked."""

from __future__ import annotations

from typing import Any

from .error_codes import ERROR_CODES

__all__ = [
    "CallFailed",
    "CrabError",
    "GatewayError",
    "InvalidArgs",
    "PairingError",
    "ToolError",
]


class CrabError(Exception):
    """The base of all exceptions of this package."""


class ToolError(CrabError):
    """A failure of a tool, raised by its function; the caller reads code and message.

    The message says what failed and what to do next, and names no secret. In a ToolHost
    `RATE_LIMITED` and `UNAVAILABLE` promise that the call had no effect, so it may be repeated. Of
    a Device the gateway takes no such promise: it repeats no call that a device has answered.
    """

    def __init__(self, code: str, message: str, details: dict[str, Any] | None = None) -> None:
        if code not in ERROR_CODES:
            raise ValueError(f"{code!r} is no error code; docs/reference/errors.md lists them")
        super().__init__(message or "the tool failed")
        self.code, self.message, self.details = code, message or "the tool failed", details

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class InvalidArgs(ToolError):
    """An argument that does not fit; `pointer` is the JSON pointer of its place."""

    def __init__(self, pointer: str, rule: str, message: str) -> None:
        place = {"pointer": pointer, "rule": rule, "message": message}
        super().__init__("INVALID_ARGS", f"{pointer or '/'}: {message}", {"errors": [place]})
        self.pointer, self.rule = pointer, rule


class GatewayError(CrabError):
    """A request that got no answer of the protocol; `status` is HTTP's, 0 without an answer.

    `retryable`: another try may succeed, after `retry_after` seconds. `may_have_run`: the request
    of a call may have reached the gateway, so the tool may have run; such a failure is not
    `retryable`, for a new call would be another one. Repeat it under the same `idempotency_key`,
    or look first.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        code: str = "",
        retryable: bool,
        retry_after: float = 0,
        may_have_run: bool = False,
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.code = message, status, code
        self.retryable, self.retry_after = retryable and not may_have_run, retry_after
        self.may_have_run = may_have_run


class CallFailed(CrabError):
    """A call that was answered and did not succeed.

    `retryable`: it had no effect, or a repeat is safe. With `code` `OUTCOME_UNKNOWN`, and with
    `TIMEOUT` unless `retryable`, the tool may have run.
    """

    def __init__(self, call_id: str, status: str, error: dict[str, Any]) -> None:
        code, message = str(error.get("code", "INTERNAL")), str(error.get("message", ""))
        super().__init__(f"{code}: {message}")
        self.call_id, self.status, self.code, self.message = call_id, status, code, message
        self.retryable = error.get("retryable") is True
        details = error.get("details")
        self.details: dict[str, Any] = details if isinstance(details, dict) else {}


class PairingError(CrabError):
    """A code that could not be redeemed.

    `reason` is `wrong` (not this code), `none_open` (no code is open, or it has expired),
    `slow_down` (too many tries; again in `retry_after` seconds) or `unreachable`.
    """

    def __init__(self, reason: str, message: str, retry_after: float = 0) -> None:
        super().__init__(message)
        self.reason, self.retry_after = reason, retry_after
