#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>

namespace crab::net {

/// Where to listen or what to dial: a TCP host and port, or the path of a Unix socket.
struct Endpoint {
    std::string host;        ///< IP address or name; empty for a Unix socket
    std::uint16_t port = 0;  ///< 0 when listening: the system chooses
    std::string path;        ///< of the Unix socket; empty for TCP

    static Endpoint tcp(std::string host, std::uint16_t port) {
        return {.host = std::move(host), .port = port, .path = {}};
    }
    static Endpoint unix_socket(std::string path) {
        return {.host = {}, .port = 0, .path = std::move(path)};
    }
    bool is_unix() const { return !path.empty(); }
    /// `127.0.0.1:80`, `[::1]:80`, `unix:/run/crab.sock`; parse_endpoint() reads it back.
    std::string text() const;
    friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// `host:port`, `[v6]:port`, `unix:/path` or `/path`. Errors: kInvalidArgs.
Result<Endpoint> parse_endpoint(std::string_view text);

/// What connect() and bind() take.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;

    const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&storage); }
    int family() const { return storage.ss_family; }
};

/// The address of an endpoint that needs no lookup: a numeric IP, `localhost` (127.0.0.1) or a
/// path. Errors: kInvalidArgs.
Result<SocketAddress> to_socket_address(const Endpoint& endpoint);
/// All addresses of an endpoint, names included. Blocks: call it on the BlockingPool. Errors:
/// kUnavailable, kInvalidArgs.
Result<std::vector<SocketAddress>> resolve(const Endpoint& endpoint);

}  // namespace crab::net
