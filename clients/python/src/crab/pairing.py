"""A pairing code becomes a token. Source: docs/protocols/clawseed.md, section 8."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import re
from pathlib import Path

from .address import Address
from .device_key import NewKey
from .errors import PairingError
from .http import HttpClient, HttpFailure
from .off_loop import to_its_end

__all__ = ["normalize_code", "pair", "pair_async", "pair_key", "pair_key_async"]


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
    allow_plain: bool = False,
) -> str:
    """Redeems a code of `crab devices pair`, once; the token is also written to `token_file`, for
    its owner alone. Errors: PairingError; ValueError, OSError for address and files."""
    return asyncio.run(
        pair_async(gateway, code, ca_file=ca_file, token_file=token_file, allow_plain=allow_plain)
    )


async def pair_async(
    gateway: str,
    code: str,
    *,
    ca_file: str | os.PathLike[str] | None = None,
    token_file: str | os.PathLike[str] | None = None,
    allow_plain: bool = False,
) -> str:
    """As pair(), on the running loop."""
    normal = normalize_code(code)
    if normal is None:
        raise PairingError("wrong", "a pairing code has twelve digits")
    address = Address.parse(gateway, allow_plain=allow_plain)
    # A code counts once: it is not spent before its token has a place to go to.
    place = None if token_file is None else SecretFile(Path(token_file))
    try:
        token = await _redeem(address, normal, ca_file, "token")
        if place:
            await to_its_end(functools.partial(place.keep, token))
        return token
    finally:
        if place:
            place.close()


def pair_key(
    gateway: str,
    code: str,
    *,
    key_file: str | os.PathLike[str],
    ca_file: str | os.PathLike[str] | None = None,
    allow_plain: bool = False,
) -> None:
    """Redeems a code of `crab devices pair`, once, for a new key, which `key_file` then holds for
    its owner alone, and Device() takes in place of a token. Errors: as pair()."""
    asyncio.run(
        pair_key_async(gateway, code, key_file=key_file, ca_file=ca_file, allow_plain=allow_plain)
    )


async def pair_key_async(
    gateway: str,
    code: str,
    *,
    key_file: str | os.PathLike[str],
    ca_file: str | os.PathLike[str] | None = None,
    allow_plain: bool = False,
) -> None:
    """As pair_key(), on the running loop."""
    normal = normalize_code(code)
    if normal is None:
        raise PairingError("wrong", "a pairing code has twelve digits")
    address = Address.parse(gateway, allow_plain=allow_plain)
    place, key = SecretFile(Path(key_file)), NewKey()
    try:
        body = {"public_key": key.public_key}
        key_id = await _redeem(address, normal, ca_file, "key_id", body)
        await to_its_end(functools.partial(place.keep, key.text(key_id)))
    finally:
        place.close()


async def _redeem(
    address: Address,
    normal: str,
    ca_file: str | os.PathLike[str] | None,
    member: str,
    body: dict[str, str] | None = None,
) -> str:
    http = HttpClient(address, address.context(ca_file))
    try:
        async with asyncio.timeout(15):
            headers = {"X-Pairing-Code": normal}
            if body:
                headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode() if body else b""
            response = await http.request("POST", "/pair", headers, data)
    except (HttpFailure, asyncio.TimeoutError) as failed:
        raise PairingError("unreachable", str(failed) or "the gateway does not answer") from None
    finally:
        await http.close()
    answer = response.members()
    value = answer.get(member)
    if response.status == 200 and isinstance(value, str):
        return value
    why = str(answer.get("error", f"the gateway answers {response.status}"))
    reasons = {403: "wrong", 404: "none_open", 429: "slow_down"}
    wait = answer.get("retry_after", 60) if response.status == 429 else 0
    raise PairingError(
        reasons.get(response.status, "unreachable"),
        why,
        float(wait) if isinstance(wait, (int, float)) else 60.0,
    )


class SecretFile:
    """A file that only its owner reads, and that appears in one step; made beforehand, so that what
    stands against it is known before there is a secret. Errors: OSError."""

    def __init__(self, path: Path) -> None:
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder")
        self._path = path
        self._scratch = path.with_name(f".{path.name}.{os.getpid()}")
        self._descriptor = os.open(self._scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)

    def keep(self, text: str) -> None:
        os.write(self._descriptor, text.encode())
        os.fsync(self._descriptor)
        os.replace(self._scratch, self._path)

    def close(self) -> None:
        """Without keep() nothing is left of it."""
        os.close(self._descriptor)
        self._scratch.unlink(missing_ok=True)
