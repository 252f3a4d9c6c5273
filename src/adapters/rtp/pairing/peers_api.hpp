#pragma once

#include "base/task/blocking_pool.hpp"
#include "core/call/principal.hpp"
#include "net/http/routes.hpp"
#include "trust/pairing/pairing_keys.hpp"
#include "trust/peers.hpp"

#include <functional>
#include <string_view>

namespace crab::rtp {

/// The operator's routes for peers, except pairing and renewal: `/v1/identity`, `/v1/peers`,
/// `/v1/peers/{type}/{id}`, `.../revoke`. Callers are authenticated and authorized by the listener.
/// One object serves all loops. Source: docs/protocols/rtp.md, section 7.
class PeersApi {
public:
    /// Must outlive the routes.
    struct Services {
        trust::Peers& peers;
        const trust::GatewayKeys& keys;
        BlockingPool& pool;
        const Clock& clock;
    };
    explicit PeersApi(Services services) : services_(services) {}

    /// Each route has its action (section 8).
    void add_routes(net::Routes<core::PrincipalRef>& routes);

private:
    using PeerRequest = net::Routes<core::PrincipalRef>::Request;

    void identity(net::HttpExchange& exchange);
    void list(net::HttpExchange& exchange);
    void show(const PeerRequest& request);
    Task<void> change(const PeerRequest& request);
    Task<void> revoke(const PeerRequest& request);

    Services services_;
};

}  // namespace crab::rtp
