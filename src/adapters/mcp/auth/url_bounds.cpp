#include "adapters/mcp/auth/url_bounds.hpp"

#include "net/loop/ip_address.hpp"

#include <string_view>

namespace crab::mcp {

bool names_loopback(const net::HttpUrl& url) { return net::names_loopback(url.host); }

bool is_below(const net::HttpUrl& outer, const net::HttpUrl& inner) {
    if (!outer.same_origin(inner)) return false;
    std::string_view base = outer.path;
    while (base.ends_with('/')) base.remove_suffix(1);
    const std::string_view path = inner.path;
    if (!outer.query.empty()) return inner.query == outer.query && path == outer.path;
    return is_below(base, path);
}

}  // namespace crab::mcp
