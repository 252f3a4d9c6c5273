#pragma once

#include "base/result.hpp"
#include "net/loop/ip_address.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::command {

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
    bool allows_address(const net::IpAddress& address, std::uint16_t port) const;

private:
    struct Item {
        std::string name;  ///< lower case; empty for an address
        bool below = false;  ///< `*.`
        std::optional<net::IpAddress> address;
        std::uint16_t port = 0;
    };
    std::vector<Item> items_;
};

}  // namespace crab::command
