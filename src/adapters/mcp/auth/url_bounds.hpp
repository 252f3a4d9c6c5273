#pragma once

#include "net/codec/http_url.hpp"

namespace crab::mcp {

/// Whether the host is `localhost` or a loopback address by its spelling.
bool names_loopback(const net::HttpUrl& url);
/// Whether `inner` is `outer` or lies below it: the same origin, and its path begins with that of
/// `outer` up to the end or a `/`.
bool is_below(const net::HttpUrl& outer, const net::HttpUrl& inner);

}  // namespace crab::mcp
