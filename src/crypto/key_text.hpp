#pragma once

#include "base/encoding.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace crab::crypto {

/// Exactly `N` bytes from base64 (RFC 4648, section 4, with padding, nothing else), the text form
/// of keys, nonces and signatures. Strict, so that each value has exactly one text.
template <std::size_t N>
std::optional<std::array<std::uint8_t, N>> from_base64_exact(std::string_view text) {
    const auto bytes = from_base64(text);
    if (!bytes || bytes->size() != N) return std::nullopt;
    std::array<std::uint8_t, N> exact;
    std::ranges::copy(*bytes, exact.begin());
    return exact;
}

}  // namespace crab::crypto
