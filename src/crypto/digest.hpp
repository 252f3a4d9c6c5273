#pragma once

#include "base/encoding.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace crab::crypto {

using Sha256Digest = std::array<std::uint8_t, 32>;

/// FIPS 180-4.
Sha256Digest sha256(std::span<const std::uint8_t> bytes);
inline Sha256Digest sha256(std::string_view text) { return sha256(bytes_of(text)); }
/// 64 lower-case hexadecimal characters.
std::string sha256_hex(std::string_view text);

/// RFC 2104 with SHA-256.
Sha256Digest hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::uint8_t> bytes);

/// Constant-time comparison. Different lengths are never equal.
bool constant_time_equal(std::span<const std::uint8_t> left, std::span<const std::uint8_t> right);
inline bool constant_time_equal(std::string_view left, std::string_view right) {
    return constant_time_equal(bytes_of(left), bytes_of(right));
}

/// Incremental SHA-256.
class Sha256 {
public:
    Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;
    ~Sha256();

    Sha256& update(std::span<const std::uint8_t> bytes);
    Sha256& update(std::string_view text) { return update(bytes_of(text)); }
    /// Adds a number as eight bytes, big-endian, so that different sequences of parts cannot
    /// collide.
    Sha256& update_number(std::uint64_t number);
    /// The digest so far; resets the object.
    Sha256Digest finish();

private:
    struct Context;
    std::unique_ptr<Context> context_;
};

}  // namespace crab::crypto
