#pragma once

#include "net/codec/http_url.hpp"

#include <string_view>

namespace crab::mcp {

/// Whether the host is `localhost` or a loopback address by its spelling.
bool names_loopback(const net::HttpUrl& url);
/// Whether `path` is `base`, which does not end in a `/`, or lies below it.
inline bool is_below(std::string_view base, std::string_view path) {
    return path.starts_with(base) && (path.size() == base.size() || path[base.size()] == '/');
}
/// Whether `inner` is `outer` or lies below it: the same origin, and its path begins with that of
/// `outer` up to the end or a `/`.
bool is_below(const net::HttpUrl& outer, const net::HttpUrl& inner);

}  // namespace crab::mcp
