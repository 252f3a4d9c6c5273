#pragma once

#include "net/codec/http_url.hpp"

#include <string_view>

namespace crab::config {

/// Whether `url` is http on another machine than this one: secrets that are sent there could be
/// read on the way. A text that is no URL is not.
bool is_plain_elsewhere(const net::HttpUrl& url);
bool is_plain_elsewhere(std::string_view url);

}  // namespace crab::config
