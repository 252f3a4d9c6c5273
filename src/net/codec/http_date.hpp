#pragma once

#include "base/clock.hpp"

#include <optional>
#include <string_view>

namespace crab::net {

/// A date of an HTTP field, to the second, in any of its three forms (RFC 9110, section 5.6.7);
/// nothing for anything else, or a year before 1900 or after 2200. The name of the weekday is not
/// compared with the date.
std::optional<SystemTime> parse_http_date(std::string_view text);

}  // namespace crab::net
