#pragma once

#include "base/clock.hpp"

#include <optional>
#include <string>
#include <vector>

namespace crab::trust {

/// A grant to one peer, within its rights: actions, scope, expiry. Source: docs/protocols/rtp.md,
/// section 8.
struct Lease {
    std::string id;
    std::string owner;                      ///< principal id, `<component_type>/<component_id>`
    std::string tenant_id, agent_id, session_id;
    std::vector<std::string> capabilities;  ///< actions, or patterns of them
    bool disconnect_bound = false;          ///< ends with the stream that named it
    Milliseconds ttl{0};                    ///< the TTL that granting and renewing set
    SystemTime issued_at, expires_at;
    std::optional<SystemTime> revoked_at;
    std::string revoke_reason;

    friend bool operator==(const Lease&, const Lease&) = default;
};

/// A request for a lease.
struct LeaseRequest {
    std::string tenant_id, agent_id, session_id;
    std::vector<std::string> capabilities;
    std::optional<Milliseconds> ttl;        ///< absent: the configured one
    bool disconnect_bound = false;
};

}  // namespace crab::trust
