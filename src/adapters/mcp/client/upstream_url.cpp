#include "adapters/mcp/client/upstream_url.hpp"

#include "net/codec/url.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

std::string in_lower_case(std::string_view text) {
    std::string out(text);
    for (char& byte : out) byte = static_cast<char>(std::tolower(static_cast<unsigned char>(byte)));
    return out;
}

bool fit_for_a_target(std::string_view target) {
    return std::ranges::all_of(target, [](char byte) { return byte > 0x20 && byte < 0x7f; });
}

}  // namespace

std::string UpstreamUrl::host_field() const {
    const std::string name = host.contains(':') ? "[" + host + "]" : host;
    return port == (tls ? 443 : 80) ? name : fmt::format("{}:{}", name, port);
}

Result<UpstreamUrl> parse_upstream_url(std::string_view text) {
    const auto bad = [] {
        return fail(
            ErrorCode::kInvalidArgs,
            "the URL of an MCP server is http:// or https://, a host, and perhaps a port, a "
            "path and a query");
    };
    const std::size_t scheme_end = text.find("://");
    if (scheme_end == std::string_view::npos) return bad();
    const std::size_t host_end = std::min(text.find_first_of("/?#", scheme_end + 3), text.size());
    const std::string origin_text = in_lower_case(text.substr(0, host_end));
    const auto origin = net::parse_origin(origin_text);
    if (!origin || (origin->scheme != "http" && origin->scheme != "https")) return bad();
    std::string_view target = text.substr(host_end);
    target = target.substr(0, target.find('#'));
    UpstreamUrl url{.tls = origin->scheme == "https",
                    .host = std::string(origin->host),
                    .port = origin->port,
                    .target = std::string(target)};
    if (!url.target.starts_with('/')) url.target.insert(0, "/");
    if (!fit_for_a_target(url.target)) return bad();
    return url;
}

Result<UpstreamUrl> resolve_reference(const UpstreamUrl& base, std::string_view reference) {
    const std::size_t colon = reference.find(':');
    if (colon != std::string_view::npos && colon < reference.find_first_of("/?#"))
        return parse_upstream_url(reference);
    if (reference.starts_with("//"))
        return parse_upstream_url(fmt::format("{}:{}", base.tls ? "https" : "http", reference));
    reference = reference.substr(0, reference.find('#'));
    UpstreamUrl url = base;
    const std::string_view path = std::string_view(base.target).substr(0, base.target.find('?'));
    if (reference.starts_with('/'))
        url.target = reference;
    else if (reference.starts_with('?'))
        url.target = fmt::format("{}{}", path, reference);
    else if (!reference.empty())
        url.target = fmt::format("{}{}", path.substr(0, path.rfind('/') + 1), reference);
    if (!fit_for_a_target(url.target))
        return fail(ErrorCode::kInvalidArgs, "a URL with white space or other scripts");
    return url;
}

}  // namespace crab::mcp
