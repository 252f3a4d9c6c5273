#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"
#include "crypto/digest.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct evp_pkey_st;

namespace crab::crypto {

enum class KeyKind : std::uint8_t { kP256, kP384, kEd25519, kRsa, kOther };

/// The public half of a certificate's key, as the DER of its SubjectPublicKeyInfo (RFC 5280,
/// section 4.1), in canonical form: equal keys have equal bytes.
struct PublicKey {
    KeyKind kind = KeyKind::kOther;
    int bits = 0;
    std::string der;

    Sha256Digest digest() const { return sha256(der); }
    friend bool operator==(const PublicKey& left, const PublicKey& right) {
        return left.der == right.der;
    }
};

/// The private half of a certificate's key. Copies share it.
class PrivateKey {
public:
    static PrivateKey generate_p256();
    static PrivateKey generate_ed25519();
    /// PKCS #8 or the older key-specific forms, not encrypted. Errors: kInvalidArgs.
    static Result<PrivateKey> from_pem(const Secret<std::string>& pem);

    /// PKCS #8, not encrypted.
    Secret<std::string> to_pem() const;
    PublicKey public_key() const;
    evp_pkey_st* handle() const { return key_.get(); }  ///< for crypto/*.cpp

private:
    explicit PrivateKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}
    std::shared_ptr<evp_pkey_st> key_;
};

/// The public half of an OpenSSL key; for crypto/*.cpp.
PublicKey public_key_of(evp_pkey_st* key);

}  // namespace crab::crypto
