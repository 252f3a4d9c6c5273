#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace crab {

/// The bytes of a text.
inline std::span<const std::uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// Lower-case hexadecimal.
std::string to_hex(std::span<const std::uint8_t> bytes);
/// Either case; nothing for odd lengths and other characters.
std::optional<std::string> from_hex(std::string_view text);
/// RFC 4648, section 4, with padding.
std::string to_base64(std::span<const std::uint8_t> bytes);
/// RFC 4648, section 4; nothing for unpadded, URL-safe or otherwise malformed text.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace crab
