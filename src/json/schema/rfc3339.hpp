#pragma once

#include "base/clock.hpp"

#include <optional>
#include <string_view>

namespace crab::json {

/// The moment that an RFC 3339 date-time names, to the millisecond (finer fractions are cut off, a
/// leap second counts as the second after it). Times outside the range of SystemTime (1678 to 2261)
/// are clamped. Nothing for any other text.
std::optional<SystemTime> parse_rfc3339(std::string_view text);

}  // namespace crab::json
