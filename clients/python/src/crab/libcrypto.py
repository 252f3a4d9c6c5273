"""Ed25519, X25519 and AES-256-GCM by the libcrypto that Python's own `ssl` is linked with: the
standard library has none of them. Source: OpenSSL 3, EVP."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
from typing import Any

__all__ = [
    "ed25519_public",
    "ed25519_sign",
    "ed25519_verify",
    "gcm_open",
    "x25519",
    "x25519_public",
]

_ED25519, _X25519 = 1087, 1034  # NIDs
_SET_TAG = 0x11
_MAKERS = (
    "EVP_PKEY_new_raw_private_key",
    "EVP_PKEY_new_raw_public_key",
    "EVP_MD_CTX_new",
    "EVP_PKEY_CTX_new",
    "EVP_CIPHER_CTX_new",
    "EVP_aes_256_gcm",
)


@functools.cache
def _library() -> Any:
    """Errors: OSError where it is not found."""
    library = ctypes.CDLL(ctypes.util.find_library("crypto") or "libcrypto.so.3")
    for name in _MAKERS:
        getattr(library, name).restype = ctypes.c_void_p
    return library


class _Owned:
    """A pointer that is freed with its `with` block. Errors: ValueError for a null one."""

    def __init__(self, pointer: int | None, free: str) -> None:
        if not pointer:
            raise ValueError("libcrypto refused")
        self._pointer, self._free = ctypes.c_void_p(pointer), free

    def __enter__(self) -> ctypes.c_void_p:
        return self._pointer

    def __exit__(self, *_: object) -> None:
        getattr(_library(), self._free)(self._pointer)


def _check(result: int) -> None:
    if result != 1:
        raise ValueError("libcrypto refused")


def _private(kind: int, seed: bytes) -> _Owned:
    made = _library().EVP_PKEY_new_raw_private_key(kind, None, seed, ctypes.c_size_t(len(seed)))
    return _Owned(made, "EVP_PKEY_free")


def _public(kind: int, key: bytes) -> _Owned:
    made = _library().EVP_PKEY_new_raw_public_key(kind, None, key, ctypes.c_size_t(len(key)))
    return _Owned(made, "EVP_PKEY_free")


def _public_of(kind: int, seed: bytes) -> bytes:
    out, size = ctypes.create_string_buffer(32), ctypes.c_size_t(32)
    with _private(kind, seed) as key:
        _check(_library().EVP_PKEY_get_raw_public_key(key, out, ctypes.byref(size)))
    return out.raw


def ed25519_public(seed: bytes) -> bytes:
    return _public_of(_ED25519, seed)


def x25519_public(seed: bytes) -> bytes:
    return _public_of(_X25519, seed)


def ed25519_sign(seed: bytes, message: bytes) -> bytes:
    library, out, size = _library(), ctypes.create_string_buffer(64), ctypes.c_size_t(64)
    count = ctypes.c_size_t(len(message))
    with _Owned(library.EVP_MD_CTX_new(), "EVP_MD_CTX_free") as context:
        with _private(_ED25519, seed) as key:
            _check(library.EVP_DigestSignInit(context, None, None, None, key))
            _check(library.EVP_DigestSign(context, out, ctypes.byref(size), message, count))
    return out.raw


def ed25519_verify(key: bytes, message: bytes, signature: bytes) -> bool:
    library, count = _library(), ctypes.c_size_t(len(message))
    size = ctypes.c_size_t(len(signature))
    with _Owned(library.EVP_MD_CTX_new(), "EVP_MD_CTX_free") as context:
        with _public(_ED25519, key) as public:
            _check(library.EVP_DigestVerifyInit(context, None, None, None, public))
            return bool(library.EVP_DigestVerify(context, signature, size, message, count) == 1)


def x25519(seed: bytes, public: bytes) -> bytes:
    """Errors: ValueError, also for a result of zeros."""
    library, out, size = _library(), ctypes.create_string_buffer(32), ctypes.c_size_t(32)
    with _private(_X25519, seed) as key, _public(_X25519, public) as other:
        with _Owned(library.EVP_PKEY_CTX_new(key, None), "EVP_PKEY_CTX_free") as context:
            _check(library.EVP_PKEY_derive_init(context))
            _check(library.EVP_PKEY_derive_set_peer(context, other))
            _check(library.EVP_PKEY_derive(context, out, ctypes.byref(size)))
    if out.raw == bytes(32):
        raise ValueError("a key of small order")
    return out.raw


def gcm_open(key: bytes, nonce: bytes, sealed: bytes, aad: bytes) -> bytes:
    """The plaintext of ciphertext and 16-byte tag. Errors: ValueError for one that does not fit."""
    library, text, tag = _library(), sealed[:-16], sealed[-16:]
    out, size = ctypes.create_string_buffer(len(text) + 16), ctypes.c_int()
    cipher = ctypes.c_void_p(library.EVP_aes_256_gcm())
    with _Owned(library.EVP_CIPHER_CTX_new(), "EVP_CIPHER_CTX_free") as context:
        _check(library.EVP_DecryptInit_ex(context, cipher, None, key, nonce))
        _check(library.EVP_DecryptUpdate(context, None, ctypes.byref(size), aad, len(aad)))
        _check(library.EVP_DecryptUpdate(context, out, ctypes.byref(size), text, len(text)))
        _check(library.EVP_CIPHER_CTX_ctrl(context, _SET_TAG, 16, tag))
        _check(library.EVP_DecryptFinal_ex(context, out, ctypes.byref(size)))
    return out.raw[: len(text)]
