#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace crab::mcp {

/// Levels of log messages (RFC 5424), the least important first.
inline constexpr std::array<std::string_view, 8> kLogLevels = {
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"};

/// Its place among them; nothing for a level that does not exist.
constexpr std::optional<std::size_t> rank_of_level(std::string_view level) {
    const auto* const found = std::ranges::find(kLogLevels, level);
    if (found == kLogLevels.end()) return std::nullopt;
    return static_cast<std::size_t>(found - kLogLevels.begin());
}

}  // namespace crab::mcp
