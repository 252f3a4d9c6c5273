#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace crab::json {

/// The label that an A-label stands for; `text` is what follows `xn--` (RFC 3492, section 6.2).
/// Nothing when malformed.
std::optional<std::u32string> decode_punycode(std::string_view text);
/// The label in Punycode, without `xn--` (section 6.3); for more than 256 code points, which fit no
/// name, some text that is too long for one too.
std::string punycode_of(const std::u32string& label);

}  // namespace crab::json
