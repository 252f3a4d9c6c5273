#include "agent/base_url.hpp"

#include "net/codec/url.hpp"

#include <fmt/format.h>

namespace crab::agent {

std::string BaseUrl::host_field() const {
    const std::string name = host.find(':') != std::string::npos ? fmt::format("[{}]", host) : host;
    return port == (tls ? 443 : 80) ? name : fmt::format("{}:{}", name, port);
}

Result<BaseUrl> parse_base_url(std::string_view text) {
    const std::size_t authority = text.find("://");
    const std::size_t path =
        authority == std::string_view::npos ? authority : text.find('/', authority + 3);
    const auto origin = net::parse_origin(text.substr(0, path));
    std::string_view rest = path == std::string_view::npos ? std::string_view() : text.substr(path);
    while (rest.ends_with('/')) rest.remove_suffix(1);
    const bool known = origin && (origin->scheme == "http" || origin->scheme == "https");
    if (!known || rest.find_first_of("?# \t\r\n") != std::string_view::npos) {
        return fail(
            ErrorCode::kInvalidArgs,
            fmt::format("{} is not an address of a model; it has the form https://host:port/path",
                        text));
    }
    std::string_view host = origin->host;
    if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
    return BaseUrl{.tls = origin->scheme == "https",
                   .host = std::string(host),
                   .port = origin->port,
                   .path = std::string(rest)};
}

}  // namespace crab::agent
