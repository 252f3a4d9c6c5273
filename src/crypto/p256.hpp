#pragma once

#include "base/secret.hpp"
#include "crypto/private_key.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::crypto {

/// A point of P-256 in uncompressed form: 0x04 and both coordinates (SEC 1, section 2.3.3).
inline constexpr std::size_t kP256PointBytes = 65;
using P256SharedSecret = Secret<std::array<std::uint8_t, 32>>;

/// The public half of a P-256 key as a point.
std::string p256_point_of(const PrivateKey& key);
/// Elliptic curve Diffie-Hellman with `key`, which is of P-256 (NIST SP 800-56A, section 5.7.1.2);
/// nothing when `point` is no point of the curve.
std::optional<P256SharedSecret> p256_agree(const PrivateKey& key, std::string_view point);

}  // namespace crab::crypto
