#pragma once

#include "base/task/blocking_pool.hpp"
#include "core/call/principal.hpp"
#include "net/http/routes.hpp"
#include "trust/peer_access.hpp"

#include <string>
#include <string_view>

namespace crab::rtp {

/// `/v1/leases`: a peer's own leases; all leases of a tenant to principals that may do
/// `control.sessions:leases` there. One object serves all loops. Source: docs/protocols/rtp.md,
/// section 8.
class LeasesApi {
public:
    struct Services {
        trust::PeerAccess& access;
        trust::Leases& leases;
        BlockingPool& pool;
    };
    explicit LeasesApi(Services services) : services_(services) {}

    void add_routes(net::Routes<core::PrincipalRef>& routes);

private:
    Task<void> make(net::HttpExchange& exchange, core::PrincipalRef principal);
    void list(net::HttpExchange& exchange, const core::Principal& principal);
    Task<void> renew(net::HttpExchange& exchange, core::PrincipalRef principal,
                     std::string lease_id);
    Task<void> end(net::HttpExchange& exchange, core::PrincipalRef principal, std::string lease_id);
    bool sees(const core::Principal& principal, const trust::Lease& lease) const;

    Services services_;
};

}  // namespace crab::rtp
