"""A pairing code becomes a token. Source: docs/protocols/clawseed.md, section 8."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

from .address import Address
from .errors import PairingError
from .http import HttpClient, HttpFailure

__all__ = ["normalize_code", "pair", "pair_async"]


def normalize_code(text: str) -> str | None:
    """The twelve digits of a code, or of the link in a QR code, as `NNNN-NNNN-NNNN`; None for any
    other text."""
    link = re.search(r"#(?:.*&)?pair=([^&]*)", text)
    digits = re.sub(r"[\s-]", "", link[1] if link else text)
    if not re.fullmatch(r"[0-9]{12}", digits):
        return None
    return f"{digits[:4]}-{digits[4:8]}-{digits[8:]}"


def pair(
    gateway: str,
    code: str,
    *,
    ca_file: str | os.PathLike[str] | None = None,
    token_file: str | os.PathLike[str] | None = None,
) -> str:
    """Redeems a code of `crab devices pair`, once; the token is also written to `token_file`, for
    its owner alone. Errors: PairingError; ValueError, OSError for address and files."""
    return asyncio.run(pair_async(gateway, code, ca_file=ca_file, token_file=token_file))


async def pair_async(
    gateway: str,
    code: str,
    *,
    ca_file: str | os.PathLike[str] | None = None,
    token_file: str | os.PathLike[str] | None = None,
) -> str:
    """As pair(), on the running loop."""
    normal = normalize_code(code)
    if normal is None:
        raise PairingError("wrong", "a pairing code has twelve digits")
    address = Address.parse(gateway)
    http = HttpClient(address, address.context(ca_file))
    try:
        async with asyncio.timeout(15):
            response = await http.request("POST", "/pair", {"X-Pairing-Code": normal})
    except (HttpFailure, asyncio.TimeoutError) as failed:
        raise PairingError("unreachable", str(failed) or "the gateway does not answer") from None
    finally:
        await http.close()
    answer = response.members()
    token = answer.get("token")
    if response.status == 200 and isinstance(token, str):
        if token_file is not None:
            write_secret(Path(token_file), token)
        return token
    why = str(answer.get("error", f"the gateway answers {response.status}"))
    reasons = {403: "wrong", 404: "none_open", 429: "slow_down"}
    wait = answer.get("retry_after", 60) if response.status == 429 else 0
    raise PairingError(
        reasons.get(response.status, "unreachable"),
        why,
        float(wait) if isinstance(wait, (int, float)) else 60.0,
    )


def write_secret(path: Path, text: str) -> None:
    """Into a file that only its owner reads, in one step. Errors: OSError."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
