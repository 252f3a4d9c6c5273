#pragma once

#include <cstddef>
#include <string_view>

namespace crab {

/// At most `bytes` from the start of `text`, cut between characters of UTF-8.
constexpr std::string_view cut_text(std::string_view text, std::size_t bytes) {
    if (text.size() <= bytes) return text;
    while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0u) == 0x80u) --bytes;
    return text.substr(0, bytes);
}

}  // namespace crab
