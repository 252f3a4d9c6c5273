#include "net/loop/peer_address.hpp"

#include <cstring>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace crab::net {

PeerAddress PeerAddress::of(int fd) {
    PeerAddress peer;
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return peer;
    if (storage.ss_family == AF_UNIX) {
        ucred credentials{};
        socklen_t length = sizeof credentials;
        if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return peer;
        peer.kind_ = Kind::kUnix;
        peer.uid_ = credentials.uid;
        peer.pid_ = credentials.pid;
    } else if (storage.ss_family == AF_INET) {
        const auto& address = reinterpret_cast<const sockaddr_in&>(storage);
        peer.kind_ = Kind::kIpv4;
        peer.port_ = ntohs(address.sin_port);
        std::memcpy(peer.ip_.data(), &address.sin_addr, 4);
    } else if (storage.ss_family == AF_INET6) {
        const auto& address = reinterpret_cast<const sockaddr_in6&>(storage);
        peer.port_ = ntohs(address.sin6_port);
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(&address.sin6_addr);
        if (IN6_IS_ADDR_V4MAPPED(&address.sin6_addr)) {
            peer.kind_ = Kind::kIpv4;
            std::memcpy(peer.ip_.data(), bytes + 12, 4);
        } else {
            peer.kind_ = Kind::kIpv6;
            std::memcpy(peer.ip_.data(), bytes, 16);
        }
    }
    return peer;
}

bool PeerAddress::is_loopback() const {
    switch (kind_) {
        case Kind::kUnix: return true;
        case Kind::kIpv4: return ip_[0] == 127;
        case Kind::kIpv6: return std::memcmp(ip_.data(), &in6addr_loopback, 16) == 0;
        case Kind::kUnknown: return false;
    }
    return false;
}

std::uint64_t PeerAddress::network() const {
    if (kind_ == Kind::kUnix) return uid_;
    std::uint64_t network = 0;
    std::memcpy(&network, ip_.data(), sizeof network);
    return kind_ == Kind::kIpv4 ? ~network : network;
}

std::string PeerAddress::ip() const {
    char text[INET6_ADDRSTRLEN] = "";
    if (kind_ == Kind::kIpv4) ::inet_ntop(AF_INET, ip_.data(), text, sizeof text);
    if (kind_ == Kind::kIpv6) ::inet_ntop(AF_INET6, ip_.data(), text, sizeof text);
    return text;
}

std::string PeerAddress::text() const {
    switch (kind_) {
        case Kind::kUnix: return fmt::format("unix:uid={}", uid_);
        case Kind::kIpv4: return fmt::format("{}:{}", ip(), port_);
        case Kind::kIpv6: return fmt::format("[{}]:{}", ip(), port_);
        case Kind::kUnknown: return "unknown";
    }
    return "unknown";
}

}  // namespace crab::net
