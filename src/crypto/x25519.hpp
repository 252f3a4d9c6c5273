#pragma once

#include "base/secret.hpp"
#include "crypto/random_source.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace crab::crypto {

using X25519PublicKey = std::array<std::uint8_t, 32>;
using X25519SharedSecret = Secret<std::array<std::uint8_t, 32>>;

/// A key-agreement key (RFC 7748, section 5).
class X25519Key {
public:
    using Scalar = std::array<std::uint8_t, 32>;

    explicit X25519Key(Secret<Scalar> scalar);
    static X25519Key generate(RandomSource& random) {
        return X25519Key(Secret(random.bytes<32>()));
    }

    const X25519PublicKey& public_key() const { return public_key_; }
    const Secret<Scalar>& scalar() const { return scalar_; }
    /// The shared secret; nothing when it would be all zero, as with a `peer` of small order (RFC
    /// 7748, section 6.1).
    std::optional<X25519SharedSecret> agree(const X25519PublicKey& peer) const;

private:
    Secret<Scalar> scalar_;
    X25519PublicKey public_key_;
};

}  // namespace crab::crypto
