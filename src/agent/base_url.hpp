#pragma once

#include "base/result.hpp"
#include "net/codec/http_url.hpp"

#include <string_view>

namespace crab::agent {

/// The base address of a model's API, `https://api.example.com/v1`: a scheme, a host, perhaps a
/// port and a path, whose `/` at the end is dropped; no query. Errors: kInvalidArgs.
Result<net::HttpUrl> parse_base_url(std::string_view text);

}  // namespace crab::agent
