#include "base/base64url.hpp"

#include "base/encoding.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

namespace crab {

std::string to_base64url(std::string_view bytes) {
    std::string text =
        to_base64({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    while (text.ends_with('=')) text.pop_back();
    std::ranges::replace(text, '+', '-');
    std::ranges::replace(text, '/', '_');
    return text;
}

std::optional<std::string> from_base64url(std::string_view text) {
    if (text.find_first_of("+/=") != std::string_view::npos) return std::nullopt;
    std::string padded(text);
    std::ranges::replace(padded, '-', '+');
    std::ranges::replace(padded, '_', '/');
    padded.append((4 - padded.size() % 4) % 4, '=');
    return from_base64(padded);
}

}  // namespace crab
