#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <sys/types.h>

namespace crab::net {

/// The remote end of a connection according to the kernel. 28 bytes; texts are created on demand.
class PeerAddress {
public:
    PeerAddress() = default;
    /// Asks the kernel about a connected socket: its address, or for a Unix socket the peer's user
    /// (SO_PEERCRED).
    static PeerAddress of(int fd);

    bool is_unix() const { return kind_ == Kind::kUnix; }
    /// 127.0.0.0/8, ::1 or a Unix socket.
    bool is_loopback() const;
    /// Of a Unix peer, as it was when it connected.
    uid_t uid() const { return uid_; }
    pid_t pid() const { return pid_; }
    std::uint16_t port() const { return port_; }
    /// Identifies the party for limits: an IPv4 address, the /64 network of an IPv6 address, or a
    /// user.
    std::uint64_t network() const;
    /// `192.0.2.7` or `2001:db8::1`, mapped IPv4 as IPv4; empty for a Unix peer.
    std::string ip() const;
    /// `192.0.2.7:4711`, `[::1]:4711`, `unix:uid=1000`.
    std::string text() const;

private:
    enum class Kind : std::uint8_t { kUnknown, kIpv4, kIpv6, kUnix };
    std::array<std::uint8_t, 16> ip_{};
    uid_t uid_ = 0;
    pid_t pid_ = 0;
    std::uint16_t port_ = 0;
    Kind kind_ = Kind::kUnknown;
};

}  // namespace crab::net
