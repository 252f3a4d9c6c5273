#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace crab::net {

/// The part of a representation that a request asks for.
struct RangeChoice {
    enum class Kind : std::uint8_t { kWhole, kPart, kUnsatisfiable };
    Kind kind = Kind::kWhole;
    std::uint64_t first = 0;
    std::uint64_t length = 0;
};

/// Reads the field `Range` for a representation of `size` bytes (RFC 9110, section 14.1.2
/// and 14.2). One range is honoured; other units, several ranges and what is malformed are ignored,
/// as a server may. `field` empty: none came.
RangeChoice choose_range(std::string_view field, std::uint64_t size);
/// The value of `Content-Range` for that choice.
std::string content_range(const RangeChoice& choice, std::uint64_t size);

/// The `sha-256` of a field `Content-Digest` or `Repr-Digest` (RFC 9530) as 64 lower-case
/// hexadecimal characters; empty when there is none or it is malformed.
std::string sha256_of_digest_field(std::string_view field);

}  // namespace crab::net
