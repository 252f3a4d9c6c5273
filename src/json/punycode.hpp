#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace crab::json {

/// The label that an A-label stands for; `text` is what follows `xn--` (RFC 3492, section 6.2). Nothing when malformed.
std::optional<std::u32string> decode_punycode(std::string_view text);
/// How many bytes the label takes in Punycode, without `xn--` (section 6.3). At most 256 code points; more count as 1000 bytes.
std::size_t punycode_size(const std::u32string& label);

}  // namespace crab::json
