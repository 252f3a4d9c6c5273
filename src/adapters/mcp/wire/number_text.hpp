#pragma once

#include "json/number.hpp"

#include <optional>
#include <string_view>

namespace crab::mcp {

/// A text that is a JSON number (RFC 8259, section 6) and nothing else; nothing for `042`, `+1`,
/// `1.`, blanks, and what is beyond a double. Integers beyond 64 bits are rounded.
std::optional<json::Number> read_number(std::string_view text);

}  // namespace crab::mcp
