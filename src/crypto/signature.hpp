#pragma once

#include "base/result.hpp"
#include "crypto/private_key.hpp"

#include <string>
#include <string_view>

namespace crab::crypto {

/// Reads a public key for signatures: Ed25519 (RFC 8032) or P-256, as the DER of its
/// SubjectPublicKeyInfo in the usual form (uncompressed point, named curve), which is what
/// WebCrypto exports as `spki`. Errors: kInvalidArgs for anything else.
Result<PublicKey> read_signing_key(std::string_view der);

/// Verifies a signature of 64 bytes: Ed25519, or for P-256 with SHA-256 the numbers r and s
/// concatenated (IEEE P1363), as WebCrypto makes them. False for anything malformed.
bool verify(const PublicKey& key, std::string_view message, std::string_view signature);

/// The same, of P-256 signatures in the form of X.509 (DER), as authenticators of WebAuthn make
/// them.
bool verify_der(const PublicKey& key, std::string_view message, std::string_view signature);

/// A signature in the form of verify(). `key` is Ed25519 or P-256.
std::string sign(const PrivateKey& key, std::string_view message);

}  // namespace crab::crypto
