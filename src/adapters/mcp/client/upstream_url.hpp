#pragma once

#include "base/result.hpp"
#include "net/codec/http_url.hpp"

#include <string_view>

namespace crab::mcp {

/// The endpoint of an upstream: a net::HttpUrl whose path is never empty; a fragment is cut off.
/// Errors: kInvalidArgs.
Result<net::HttpUrl> parse_upstream_url(std::string_view text);
/// What a reference that stands at `base` means: an absolute URL, one that begins with `//`, `/`,
/// `?`, or a path beside that of `base`. Errors: kInvalidArgs.
Result<net::HttpUrl> resolve_reference(const net::HttpUrl& base, std::string_view reference);

}  // namespace crab::mcp
