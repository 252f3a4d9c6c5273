#pragma once

#include "base/result.hpp"
#include "crypto/private_key.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace crab::crypto {

/// The signature algorithms of JSON Web Signatures that are taken (RFC 7518, section 3; RFC 8037).
/// `none` and those with a shared secret (HS256, ...) are left out on purpose: there is no value
/// that a caller could choose by mistake.
enum class JwsAlgorithm : std::uint8_t {
    kRs256,
    kRs384,
    kRs512,
    kPs256,
    kPs384,
    kPs512,
    kEs256,
    kEs384,
    kEs512,
    kEdDsa
};
std::string_view name_of(JwsAlgorithm algorithm);
/// By its name, in its case; nothing for any other.
std::optional<JwsAlgorithm> find_jws_algorithm(std::string_view name);

/// A public key that verifies signatures of the algorithms of its kind. Copies share it.
class JwsKey {
public:
    enum class Kind : std::uint8_t { kRsa, kP256, kP384, kP521, kEd25519 };

    /// Modulus and exponent, big-endian. Errors: kInvalidArgs, also below 2048 and above 8192 bits.
    static Result<JwsKey> rsa(std::string_view modulus, std::string_view exponent);
    /// `curve`: `P-256`, `P-384` or `P-521`; coordinates in their full length. Errors:
    /// kInvalidArgs, also for what is no point of the curve.
    static Result<JwsKey> ec(std::string_view curve, std::string_view x, std::string_view y);
    /// Errors: kInvalidArgs.
    static Result<JwsKey> ed25519(std::string_view key);

    Kind kind() const { return kind_; }
    /// Whether this kind of key makes signatures of that algorithm; an EC key has exactly one.
    bool fits(JwsAlgorithm algorithm) const;
    /// False for anything malformed and for an algorithm that does not fit.
    bool verify(JwsAlgorithm algorithm, std::string_view message, std::string_view signature) const;

private:
    JwsKey(Kind kind, std::shared_ptr<evp_pkey_st> key) : kind_(kind), key_(std::move(key)) {}
    Kind kind_;
    std::shared_ptr<evp_pkey_st> key_;
};

/// The algorithm in which `key` signs: ES256 for P-256, RS256 for RSA from 2048 bits; nothing for
/// other keys.
std::optional<JwsAlgorithm> jws_algorithm_of(const PrivateKey& key);
/// Signs in that algorithm; `key` has one.
std::string jws_sign(const PrivateKey& key, std::string_view message);

}  // namespace crab::crypto
