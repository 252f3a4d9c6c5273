#pragma once

#include "base/task/blocking_pool.hpp"
#include "net/http/http_service.hpp"
#include "trust/pairing/pairing_keys.hpp"
#include "trust/peers.hpp"

#include <functional>
#include <string_view>

namespace crab::rtp {

/// The operator's routes for peers that neither pair nor renew: `/v1/identity`, `/v1/peers`,
/// `/v1/peers/{type}/{id}`, `.../revoke`. Who asks has been found out and may do it. One object
/// serves all loops. Source: docs/protocols/rtp.md, section 7.
class PeersApi {
public:
    /// What outlives the routes.
    struct Services {
        trust::Peers& peers;
        const trust::GatewayKeys& keys;
        BlockingPool& pool;
        const Clock& clock;
    };
    explicit PeersApi(Services services) : services_(services) {}

    /// The action (section 8) that answering this request is, such as `control.peers:revoke`; empty
    /// when its path is none of ours.
    static std::string_view action_of(const net::HttpRequest& request);
    /// Answers the request, or returns false when the path is none of its own.
    Task<bool> serve(net::HttpExchange& exchange);

private:
    void identity(net::HttpExchange& exchange);
    void list(net::HttpExchange& exchange);
    void show(net::HttpExchange& exchange, const trust::PeerName& name);
    Task<void> change(net::HttpExchange& exchange, trust::PeerName name);
    Task<void> revoke(net::HttpExchange& exchange, trust::PeerName name);

    Services services_;
};

}  // namespace crab::rtp
