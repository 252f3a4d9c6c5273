#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace crab {

/// The byte of the `%xx` at the front of `text`, or -1 where there is none.
int percent_byte(std::string_view text);
/// Undoes percent-encoding (RFC 3986): `%41` becomes `A`, and `+` stays. Nothing for `%` without
/// two hexadecimal digits.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace crab
