#pragma once

#include "base/secret.hpp"
#include "crypto/digest.hpp"
#include "crypto/random_source.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace crab::crypto {

using Ed25519PublicKey = std::array<std::uint8_t, 32>;
using Ed25519Signature = std::array<std::uint8_t, 64>;

/// A signing key: pure Ed25519 (RFC 8032, section 5.1).
class Ed25519Key {
public:
    using Seed = std::array<std::uint8_t, 32>;

    explicit Ed25519Key(Secret<Seed> seed);
    static Ed25519Key generate(RandomSource& random) {
        return Ed25519Key(Secret(random.bytes<32>()));
    }

    const Ed25519PublicKey& public_key() const { return public_key_; }
    const Secret<Seed>& seed() const { return seed_; }
    Ed25519Signature sign(std::span<const std::uint8_t> message) const;
    Ed25519Signature sign(std::string_view message) const { return sign(bytes_of(message)); }

private:
    Secret<Seed> seed_;
    Ed25519PublicKey public_key_;
};

/// Verifies a signature. False for anything malformed, including keys that are not curve points.
bool ed25519_verify(const Ed25519PublicKey& key, std::span<const std::uint8_t> message,
                    const Ed25519Signature& signature);
inline bool ed25519_verify(const Ed25519PublicKey& key, std::string_view message,
                           const Ed25519Signature& signature) {
    return ed25519_verify(key, bytes_of(message), signature);
}

}  // namespace crab::crypto
