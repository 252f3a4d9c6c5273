#include "net/loop/endpoint.hpp"

#include <charconv>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

namespace crab::net {

std::string Endpoint::text() const {
    if (is_unix()) return "unix:" + path;
    return host.find(':') != std::string::npos ? fmt::format("[{}]:{}", host, port)
                                               : fmt::format("{}:{}", host, port);
}

Result<Endpoint> parse_endpoint(std::string_view text) {
    if (text.starts_with("unix:")) text.remove_prefix(5);
    if (text.starts_with('/')) return Endpoint::unix_socket(std::string(text));
    const auto wrong = [&] {
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("`{}` is not an endpoint; write host:port or unix:/path", text));
    };
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return wrong();
    std::string_view host = text.substr(0, colon);
    const std::string_view digits = text.substr(colon + 1);
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc() || end != digits.data() + digits.size()) return wrong();
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    } else if (host.find(':') != std::string_view::npos) {
        return wrong();
    }
    if (host.empty()) return wrong();
    return Endpoint::tcp(std::string(host), port);
}

Result<SocketAddress> to_socket_address(const Endpoint& endpoint) {
    SocketAddress address;
    if (endpoint.is_unix()) {
        auto& unix_address = reinterpret_cast<sockaddr_un&>(address.storage);
        if (endpoint.path.size() >= sizeof unix_address.sun_path) {
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("the socket path has {} bytes; at most {} are possible",
                                    endpoint.path.size(), sizeof unix_address.sun_path - 1));
        }
        unix_address.sun_family = AF_UNIX;
        std::memcpy(unix_address.sun_path, endpoint.path.c_str(), endpoint.path.size() + 1);
        address.size =
            static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + endpoint.path.size() + 1);
        return address;
    }
    const char* host = endpoint.host == "localhost" ? "127.0.0.1" : endpoint.host.c_str();
    auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage);
    if (::inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
        v4.sin_family = AF_INET;
        v4.sin_port = htons(endpoint.port);
        address.size = sizeof v4;
        return address;
    }
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage);
    address.storage = {};
    if (::inet_pton(AF_INET6, host, &v6.sin6_addr) == 1) {
        v6.sin6_family = AF_INET6;
        v6.sin6_port = htons(endpoint.port);
        address.size = sizeof v6;
        return address;
    }
    return fail(ErrorCode::kInvalidArgs,
                fmt::format("`{}` is not a numeric address", endpoint.host));
}

Result<std::vector<SocketAddress>> resolve(const Endpoint& endpoint) {
    auto numeric = to_socket_address(endpoint);
    if (numeric) return std::vector{*numeric};
    if (endpoint.is_unix()) return fail(std::move(numeric.error()));
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int error =
        ::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
    if (error != 0) {
        return fail(ErrorCode::kUnavailable,
                    fmt::format("cannot find host `{}`: {}", endpoint.host, ::gai_strerror(error)));
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
    std::vector<SocketAddress> addresses;
    for (const addrinfo* it = found; it != nullptr; it = it->ai_next) {
        SocketAddress& address = addresses.emplace_back();
        std::memcpy(&address.storage, it->ai_addr, it->ai_addrlen);
        address.size = it->ai_addrlen;
    }
    return addresses;
}

}  // namespace crab::net
