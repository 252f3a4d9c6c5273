#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace crab {

/// A whole number in decimal digits, and nothing but it: no blank, no `+`, no unit. Nothing for any
/// other text, and for a number that the type cannot hold.
template <std::integral Number>
std::optional<Number> parse_whole_number(std::string_view text) {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto [stopped, problem] = std::from_chars(text.data(), end, number);
    if (problem != std::errc() || stopped != end) return std::nullopt;
    return number;
}

}  // namespace crab
