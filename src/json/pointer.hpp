#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace crab::json {

/// A member name as one step of a JSON pointer (RFC 6901, section 3): `~` becomes `~0`, `/` becomes
/// `~1`.
std::string escape_pointer(std::string_view name);
/// The member name that a step stands for; nothing when a `~` is not followed by 0 or 1.
std::optional<std::string> unescape_pointer(std::string_view step);
/// The array index that a step stands for: digits without a leading zero.
std::optional<std::size_t> pointer_index(std::string_view step);

}  // namespace crab::json
