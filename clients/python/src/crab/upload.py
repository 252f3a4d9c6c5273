"""Results that are too large for a message. Source: docs/protocols/clawseed.md, section 9."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from .address import Token
from .error_codes import ERROR_CODES
from .errors import ToolError
from .http import HttpClient, HttpFailure
from .tools import Blob

__all__ = ["UploadTerms", "inline", "upload"]

_TRIES = 5
_FIRST_PAUSE = 0.5  # then twice that, and so on
_MAY_PASS = (401, 408, 429, 502, 503)


@dataclass(frozen=True)
class UploadTerms:
    """Results above `inline_bytes` are uploaded, up to `max_bytes`."""

    path: str
    inline_bytes: int
    max_bytes: int

    @staticmethod
    def read(value: Any) -> UploadTerms | None:
        if not isinstance(value, dict):
            return None
        path, least, most = (value.get(it) for it in ("upload", "inline_bytes", "max_bytes"))
        if not isinstance(path, str) or not path.startswith("/"):
            return None
        if not isinstance(least, int) or not isinstance(most, int):
            return None
        return UploadTerms(path, least, most)


async def upload(
    http: HttpClient, token: Token, terms: UploadTerms, call_id: str, blob: Blob
) -> str:
    """The artifact's id. Failures of the network are repeated: an upload needs no link, only a
    call that still waits. Errors: ToolError."""
    content = await _content(blob)
    if len(content) > terms.max_bytes:
        raise ToolError(
            "OVERSIZE",
            f"the result has {len(content)} bytes, and {terms.max_bytes} are allowed; ask for less",
        )
    digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
    path = f"{terms.path}?call_id={quote(call_id, safe='')}"
    failure = ToolError("UNAVAILABLE", "the gateway did not take the result")
    for tried in range(_TRIES):
        if tried:
            await asyncio.sleep(_FIRST_PAUSE * 2 ** (tried - 1))
        headers = {
            **token.headers(),
            "Content-Type": blob.content_type,
            "Content-Digest": f"sha-256=:{digest}:",
        }
        try:
            response = await http.request("POST", path, headers, content)
        except HttpFailure:
            continue
        answer = response.members()
        if response.status == 201 and isinstance(answer.get("artifact"), str):
            return str(answer["artifact"])
        code = answer.get("code")
        said = answer.get("error", f"the gateway answers {response.status}")
        failure = ToolError(code if code in ERROR_CODES else "INTERNAL", str(said))
        if response.status not in _MAY_PASS:
            break
    raise failure


async def _content(blob: Blob) -> bytes:
    try:
        return await asyncio.to_thread(blob.read)
    except OSError as failed:
        raise ToolError(
            "INTERNAL", f"the result's file cannot be read: {failed.strerror}"
        ) from None


def inline(blob: Blob) -> dict[str, str]:
    """Bytes for a gateway without uploads."""
    content = base64.b64encode(blob.read()).decode()
    return {"content_type": blob.content_type, "base64": content}
