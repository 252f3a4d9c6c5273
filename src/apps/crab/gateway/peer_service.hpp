#pragma once

#include "adapters/rtp/events_api.hpp"
#include "adapters/rtp/leases_api.hpp"
#include "adapters/rtp/peers_api.hpp"
#include "base/hash.hpp"
#include "net/http_service.hpp"
#include "trust/peers.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace crab::app {

/// What the peer listener serves: events and leases to paired peers, and the operator's routes that neither pair nor renew to those
/// whose policy grants them. Who calls is found out from the certificate before a byte of a body is read. On one event loop.
/// Source: docs/protocols/rtp.md, sections 1, 6 and 8.
class PeerService final : public net::HttpService {
public:
    /// What outlives the service.
    struct Services {
        trust::Peers& peers;
        const crypto::Certificate& ca;  ///< of pairing
        const Clock& clock;
        BlockingPool& pool;
        const trust::Access& access;
        rtp::PeersApi& records;
        rtp::EventsApi& events;
        rtp::LeasesApi& leases;
        /// Hears of certificates that name a peer and are not its, and why.
        std::function<void(const trust::PeerName& peer, std::string_view problem)> on_mismatch;
    };
    explicit PeerService(Services services) : services_(std::move(services)) {}

    Task<void> serve(net::HttpExchange& exchange) override;
    std::optional<net::Refusal> refuse_head(const net::HttpRequest& request) override;
    std::optional<net::Upgrade> upgrade(const net::HttpRequest& request, const net::WebSocketOffer& offer) override;
    net::RequestBodyLimits limits_for(const net::HttpRequest& request) override { return rtp::EventsApi::body_limits(request).value_or(net::RequestBodyLimits{}); }
    /// From here on `/healthz` says that the gateway is stopping.
    void stop() { stopping_ = true; }

private:
    /// A certificate that was found good; it stays so while the peer's record is this one and the date is not reached.
    struct Known {
        trust::PeerRef record;
        core::PrincipalRef principal;
        SystemTime not_after;
    };
    Result<core::PrincipalRef> authenticate(const net::HttpRequest& request);
    Result<Known> judge(const std::string& certificate_der, SystemTime now);
    Task<void> serve_records(net::HttpExchange& exchange, const core::Principal& principal, std::string_view action);

    Services services_;
    std::unordered_map<std::string, Known, TextHash, std::equal_to<>> known_;  // by certificate, DER
    bool stopping_ = false;
};

}  // namespace crab::app
