#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace crab {

/// RFC 4648, section 5, without padding: for texts that stand in URLs, headers and JSON.
std::string to_base64url(std::string_view bytes);
/// The one form that to_base64url() gives; nothing for padding, other characters and set bits that
/// no encoder sets.
std::optional<std::string> from_base64url(std::string_view text);

}  // namespace crab
