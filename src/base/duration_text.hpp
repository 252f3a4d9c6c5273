#pragma once

#include "base/clock.hpp"

#include <optional>
#include <string_view>

namespace crab {

/// `500ms`, `5s`, `2m`, `1h`, `30d`, a bare number is seconds; decimal fractions allowed; above
/// zero and at most ten years. Nothing for any other text.
std::optional<Milliseconds> parse_duration(std::string_view text);

}  // namespace crab
