"""Ed25519, X25519 and AES-GCM for tests, from the system's libcrypto: Python's standard library
has none of them."""
import ctypes
import ctypes.util

_lib = ctypes.CDLL(ctypes.util.find_library("crypto") or "libcrypto.so.3")
_ED25519, _X25519 = 1087, 1034  # NIDs
_GET_TAG, _SET_TAG = 0x10, 0x11
for _name in (
    "EVP_PKEY_new_raw_private_key",
    "EVP_PKEY_new_raw_public_key",
    "EVP_MD_CTX_new",
    "EVP_PKEY_CTX_new",
    "EVP_CIPHER_CTX_new",
    "EVP_aes_128_gcm",
    "EVP_aes_256_gcm",
):
    getattr(_lib, _name).restype = ctypes.c_void_p


def _check(result):
    if result != 1:
        raise ValueError("libcrypto refused")


def _pointer(value):
    return ctypes.c_void_p(value)


def _private(kind, seed):
    return _pointer(_lib.EVP_PKEY_new_raw_private_key(kind, None, seed, ctypes.c_size_t(len(seed))))


def _public(kind, key):
    return _pointer(_lib.EVP_PKEY_new_raw_public_key(kind, None, key, ctypes.c_size_t(len(key))))


def _public_of(kind, seed):
    out, size = ctypes.create_string_buffer(32), ctypes.c_size_t(32)
    _check(_lib.EVP_PKEY_get_raw_public_key(_private(kind, seed), out, ctypes.byref(size)))
    return out.raw


def ed25519_public(seed: bytes) -> bytes:
    return _public_of(_ED25519, seed)


def x25519_public(seed: bytes) -> bytes:
    return _public_of(_X25519, seed)


def ed25519_sign(seed: bytes, message: bytes) -> bytes:
    context = _pointer(_lib.EVP_MD_CTX_new())
    out, size = ctypes.create_string_buffer(64), ctypes.c_size_t(64)
    _check(_lib.EVP_DigestSignInit(context, None, None, None, _private(_ED25519, seed)))
    _check(
        _lib.EVP_DigestSign(
            context, out, ctypes.byref(size), message, ctypes.c_size_t(len(message))
        )
    )
    return out.raw


def ed25519_verify(key: bytes, message: bytes, signature: bytes) -> bool:
    context = _pointer(_lib.EVP_MD_CTX_new())
    _check(_lib.EVP_DigestVerifyInit(context, None, None, None, _public(_ED25519, key)))
    return (
        _lib.EVP_DigestVerify(
            context,
            signature,
            ctypes.c_size_t(len(signature)),
            message,
            ctypes.c_size_t(len(message)),
        )
        == 1
    )


def x25519(seed: bytes, public: bytes) -> bytes:
    context = _pointer(_lib.EVP_PKEY_CTX_new(_private(_X25519, seed), None))
    _check(_lib.EVP_PKEY_derive_init(context))
    _check(_lib.EVP_PKEY_derive_set_peer(context, _public(_X25519, public)))
    out, size = ctypes.create_string_buffer(32), ctypes.c_size_t(32)
    _check(_lib.EVP_PKEY_derive(context, out, ctypes.byref(size)))
    return out.raw


def aes_128_gcm_open(key: bytes, nonce: bytes, sealed: bytes) -> bytes:
    """As aes_256_gcm_open(), with a shorter key and no further data."""
    return _gcm_open(_lib.EVP_aes_128_gcm(), key, nonce, sealed, b"")


def aes_256_gcm_open(key: bytes, nonce: bytes, sealed: bytes, aad: bytes) -> bytes:
    """The plaintext of ciphertext and 16-byte tag; ValueError when the tag does not fit."""
    return _gcm_open(_lib.EVP_aes_256_gcm(), key, nonce, sealed, aad)


def _gcm_open(cipher, key: bytes, nonce: bytes, sealed: bytes, aad: bytes) -> bytes:
    text, tag = sealed[:-16], sealed[-16:]
    context, size = _pointer(_lib.EVP_CIPHER_CTX_new()), ctypes.c_int()
    out = ctypes.create_string_buffer(len(text) + 16)
    _check(_lib.EVP_DecryptInit_ex(context, _pointer(cipher), None, key, nonce))
    _check(_lib.EVP_DecryptUpdate(context, None, ctypes.byref(size), aad, len(aad)))
    _check(_lib.EVP_DecryptUpdate(context, out, ctypes.byref(size), text, len(text)))
    _check(_lib.EVP_CIPHER_CTX_ctrl(context, _SET_TAG, 16, tag))
    _check(_lib.EVP_DecryptFinal_ex(context, ctypes.create_string_buffer(16), ctypes.byref(size)))
    return out.raw[: len(text)]


def aes_256_gcm_seal(key: bytes, nonce: bytes, text: bytes, aad: bytes) -> bytes:
    """The ciphertext with its 16-byte tag."""
    context, size = _pointer(_lib.EVP_CIPHER_CTX_new()), ctypes.c_int()
    out, tag = ctypes.create_string_buffer(len(text) + 16), ctypes.create_string_buffer(16)
    _check(_lib.EVP_EncryptInit_ex(context, _pointer(_lib.EVP_aes_256_gcm()), None, key, nonce))
    _check(_lib.EVP_EncryptUpdate(context, None, ctypes.byref(size), aad, len(aad)))
    _check(_lib.EVP_EncryptUpdate(context, out, ctypes.byref(size), text, len(text)))
    _check(_lib.EVP_EncryptFinal_ex(context, ctypes.create_string_buffer(16), ctypes.byref(size)))
    _check(_lib.EVP_CIPHER_CTX_ctrl(context, _GET_TAG, 16, tag))
    return out.raw[: len(text)] + tag.raw
