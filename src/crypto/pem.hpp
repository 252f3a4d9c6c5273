#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace crab::crypto {

/// The bytes of the one PEM block in `text` (RFC 7468, section 3), whose label is `label`. White
/// space may surround the block and end its lines; anything else beside it, headers and a second
/// block included, is refused. Errors: kInvalidArgs.
Result<std::string> decode_pem(std::string_view text, std::string_view label);
/// One PEM block with lines of 64 characters, LF after each.
std::string encode_pem(std::string_view label, std::string_view bytes);

}  // namespace crab::crypto
