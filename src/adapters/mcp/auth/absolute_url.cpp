#include "adapters/mcp/auth/absolute_url.hpp"

#include "net/codec/http_text.hpp"
#include "net/codec/url.hpp"
#include "net/loop/ip_address.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::mcp {

std::optional<AbsoluteUrl> AbsoluteUrl::parse(std::string_view text) {
    constexpr std::size_t kMostUrl = 4096;
    constexpr std::string_view kSeparator = "://";
    if (text.size() > kMostUrl || !std::ranges::all_of(text, [](char c) {
            return c > ' ' && c < 0x7f && c != '#' && c != '\\' && c != '"' && c != '<' && c != '>';
        }))
        return std::nullopt;
    const std::size_t authority = text.find(kSeparator);
    if (authority == std::string_view::npos) return std::nullopt;
    const std::size_t end = text.find_first_of("/?", authority + kSeparator.size());
    const auto origin = net::parse_origin(text.substr(0, end));  // refuses a user
    if (!origin || origin->port == 0) return std::nullopt;
    AbsoluteUrl url;
    url.tls = net::equals_lower(origin->scheme, "https");
    if (!url.tls && !net::equals_lower(origin->scheme, "http")) return std::nullopt;
    url.host = net::lower_case(origin->host);
    url.port = origin->port;
    if (end == std::string_view::npos) return url;
    const std::string_view rest = text.substr(end);
    const std::size_t question = std::min(rest.find('?'), rest.size());
    url.path = rest.substr(0, question);
    if (question < rest.size()) url.query = rest.substr(question + 1);
    return url;
}

std::string AbsoluteUrl::host_field() const {
    const std::string name = host.contains(':') ? fmt::format("[{}]", host) : host;
    return port == (tls ? 443 : 80) ? name : fmt::format("{}:{}", name, port);
}

std::string AbsoluteUrl::origin() const {
    return fmt::format("{}://{}", tls ? "https" : "http", host_field());
}

std::string AbsoluteUrl::target() const {
    std::string text = path.empty() ? "/" : path;
    if (!query.empty()) text.append("?").append(query);
    return text;
}

bool AbsoluteUrl::names_loopback() const {
    if (host == "localhost") return true;
    const auto address = net::parse_ip_address(host);
    return address && net::is_loopback(*address);
}

bool is_below(const AbsoluteUrl& outer, const AbsoluteUrl& inner) {
    if (!outer.same_origin(inner)) return false;
    std::string_view base = outer.path;
    while (base.ends_with('/')) base.remove_suffix(1);
    const std::string_view path = inner.path;
    if (!outer.query.empty()) return inner.query == outer.query && path == outer.path;
    return path.starts_with(base) && (path.size() == base.size() || path[base.size()] == '/');
}

}  // namespace crab::mcp
