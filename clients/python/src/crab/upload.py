"""Results that are too large for a message. Source: docs/protocols/clawseed.md, section 9."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from .address import Token, TokenRefused
from .device_key import KeyToken
from .errors import ToolError
from .http import HttpClient, HttpFailure, Response
from .tools import Blob

__all__ = ["UploadTerms", "inline", "upload"]

_TRIES = 5
_FIRST_PAUSE = 0.5  # then twice that, and so on
_LONGEST_PAUSE = 30.0  # that a gateway may ask for
_MAY_PASS = (408, 429, 502, 503)


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
    http: HttpClient,
    token: Token | KeyToken,
    terms: UploadTerms,
    call_id: str,
    blob: Blob,
    deadline: float = float("inf"),
) -> str:
    """The artifact's id. Failures of the network, and a gateway that is busy, are repeated until
    the deadline: an upload needs no link, only a call that still waits. Errors: ToolError
    `OVERSIZE`, else `INTERNAL`: the function has run, so none may say that nothing was done."""
    content = await _content(blob)
    if len(content) > terms.max_bytes:
        raise ToolError(
            "OVERSIZE",
            f"the result has {len(content)} bytes, and {terms.max_bytes} are allowed; ask for less",
        )
    digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
    path = f"{terms.path}?call_id={quote(call_id, safe='')}"
    headers = {"Content-Type": blob.content_type, "Content-Digest": f"sha-256=:{digest}:"}
    why = "the gateway did not take it"
    for tried in range(_TRIES):
        pause = _FIRST_PAUSE * 2**tried
        try:
            await token.ready(http)
            sent = token.number
            response = await http.request("POST", path, {**token.headers(), **headers}, content)
        except TokenRefused as refused:
            why = str(refused)
            break
        except HttpFailure as failed:
            why = str(failed)
        else:
            answer = response.members()
            if response.status == 201 and isinstance(answer.get("artifact"), str):
                return str(answer["artifact"])
            said = answer.get("error", f"the gateway answers {response.status}")
            if answer.get("code") == "OVERSIZE":
                raise ToolError("OVERSIZE", str(said))
            why = str(said)
            if response.status == 401:
                if not token.renew(sent):
                    break
                pause = 0.0
            elif response.status not in _MAY_PASS:
                break
            pause = max(pause, _asked_pause(response))
        if pause > _LONGEST_PAUSE or time.monotonic() + pause >= deadline or tried + 1 == _TRIES:
            break
        await asyncio.sleep(pause)
    raise ToolError("INTERNAL", f"the tool ran, but its result could not be uploaded: {why}")


def _asked_pause(response: Response) -> float:
    asked = response.headers.get("retry-after", "")
    return float(min(int(asked[:9]), 3600)) if asked.isascii() and asked.isdigit() else 0.0


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
