#pragma once

#include <string_view>

namespace crab::config {

/// Whether `url` is http on another machine than this one: secrets that are sent there could be
/// read on the way. False for what is no URL.
bool is_plain_elsewhere(std::string_view url);

}  // namespace crab::config
