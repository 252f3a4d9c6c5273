#include "net/codec/http_url.hpp"

#include "net/codec/http_text.hpp"
#include "net/codec/url.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::net {

std::optional<HttpUrl> HttpUrl::parse(std::string_view text) {
    constexpr std::size_t kMostUrl = 4096;
    constexpr std::string_view kSeparator = "://";
    if (text.size() > kMostUrl || !std::ranges::all_of(text, [](char c) {
            return c > ' ' && c < 0x7f && c != '#' && c != '\\' && c != '"' && c != '<' && c != '>';
        }))
        return std::nullopt;
    const std::size_t authority = text.find(kSeparator);
    if (authority == std::string_view::npos) return std::nullopt;
    const std::size_t end = text.find_first_of("/?", authority + kSeparator.size());
    const auto parsed = parse_origin(text.substr(0, end));  // refuses a user
    if (!parsed || parsed->port == 0) return std::nullopt;
    HttpUrl url;
    url.tls = equals_lower(parsed->scheme, "https");
    if (!url.tls && !equals_lower(parsed->scheme, "http")) return std::nullopt;
    url.host = lower_case(parsed->host);
    url.port = parsed->port;
    if (end == std::string_view::npos) return url;
    const std::string_view rest = text.substr(end);
    const std::size_t question = std::min(rest.find('?'), rest.size());
    url.path = rest.substr(0, question);
    if (question < rest.size()) url.query = rest.substr(question + 1);
    return url;
}

std::string HttpUrl::host_field() const {
    const std::string name = host.contains(':') ? fmt::format("[{}]", host) : host;
    return port == (tls ? 443 : 80) ? name : fmt::format("{}:{}", name, port);
}

std::string HttpUrl::origin() const {
    return fmt::format("{}://{}", tls ? "https" : "http", host_field());
}

std::string HttpUrl::target() const {
    std::string text = path.empty() ? "/" : path;
    if (!query.empty()) text.append("?").append(query);
    return text;
}

}  // namespace crab::net
