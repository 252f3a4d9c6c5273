#include "adapters/mcp/client/upstream_url.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::mcp {

Result<net::HttpUrl> parse_upstream_url(std::string_view text) {
    auto url = net::HttpUrl::parse(text.substr(0, text.find('#')));
    if (!url)
        return fail(
            ErrorCode::kInvalidArgs,
            "the URL of an MCP server is http:// or https://, a host, and perhaps a port, a "
            "path and a query");
    if (url->path.empty()) url->path = "/";
    return std::move(*url);
}

Result<net::HttpUrl> resolve_reference(const net::HttpUrl& base, std::string_view reference) {
    reference = reference.substr(0, reference.find('#'));
    const std::size_t colon = reference.find(':');
    if (colon != std::string_view::npos && colon < reference.find_first_of("/?"))
        return parse_upstream_url(reference);
    if (reference.starts_with("//"))
        return parse_upstream_url(fmt::format("{}:{}", base.tls ? "https" : "http", reference));
    if (reference.empty()) return base;
    std::string_view before;
    if (reference.starts_with('?'))
        before = base.path;
    else if (!reference.starts_with('/'))
        before = std::string_view(base.path).substr(0, base.path.rfind('/') + 1);
    return parse_upstream_url(fmt::format("{}{}{}", base.origin(), before, reference));
}

}  // namespace crab::mcp
