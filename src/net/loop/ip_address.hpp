#pragma once

#include "net/loop/endpoint.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace crab::net {

/// An IPv6 address, or an IPv4 one as its mapped form.
using IpAddress = std::array<std::uint8_t, 16>;

/// Parses a numeric address, with or without brackets; nothing for names and for short or octal
/// forms.
std::optional<IpAddress> parse_ip_address(std::string_view text);
/// Of a TCP address.
IpAddress ip_address_of(const SocketAddress& address);
/// Whether an address is public: not private, loopback, link-local, shared, multicast or reserved,
/// nor an IPv6 form that carries such an IPv4 address. Source: the special-purpose registries of
/// IANA (RFC 6890).
bool is_public(const IpAddress& address);
/// 127.0.0.0/8, as its mapped form too, and ::1.
bool is_loopback(const IpAddress& address);
/// Whether a host as URLs write it (a name in any case, an address with or without brackets) is
/// this machine by its spelling: `localhost`, or a loopback address.
bool names_loopback(std::string_view host);

}  // namespace crab::net
