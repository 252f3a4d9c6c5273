#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace crab::crypto {

/// Fills `bytes` from the secure generator. Throws on failure.
void fill_random(std::span<std::uint8_t> bytes);
/// `bytes` random bytes as 2 * `bytes` lower-case hexadecimal characters.
std::string random_hex(std::size_t bytes);
/// Uniform in [0, `limit`); `limit` is at least 1.
std::uint64_t random_below(std::uint64_t limit);

}  // namespace crab::crypto
