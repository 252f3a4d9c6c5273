#pragma once

#include "base/result.hpp"
#include "net/loop/endpoint.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::command {

/// An IPv6 address, or an IPv4 one as its mapped form.
using IpAddress = std::array<std::uint8_t, 16>;

/// Parses a numeric address, with or without brackets; nothing for names and for short or octal
/// forms.
std::optional<IpAddress> parse_ip_address(std::string_view text);
IpAddress ip_address_of(const net::SocketAddress& address);
/// Whether an address is public: not private, loopback, link-local, shared, multicast or reserved,
/// nor an IPv6 form that carries such an IPv4 address. Source: the special-purpose registries of
/// IANA (RFC 6890).
bool is_public(const IpAddress& address);

/// The allowed destinations of one provider: `host:port`, `*.host:port` for all names below,
/// `address:port`, `[v6]:port`. Immutable. Source: docs/protocols/sw4rm.md, sections 10 and 11.
class EgressList {
public:
    /// Errors: kInvalidArgs that names the item.
    static Result<EgressList> parse(const std::vector<std::string>& items);

    bool empty() const { return items_.empty(); }
    /// Whether this host, a name in any case or an address, may be requested.
    bool allows(std::string_view host, std::uint16_t port) const;
    /// Whether an address of an allowed host may be dialled: it is public, or listed itself.
    bool allows_address(const IpAddress& address, std::uint16_t port) const;

private:
    struct Item {
        std::string name;  ///< lower case; empty for an address
        bool below = false;  ///< `*.`
        std::optional<IpAddress> address;
        std::uint16_t port = 0;
    };
    std::vector<Item> items_;
};

}  // namespace crab::command
