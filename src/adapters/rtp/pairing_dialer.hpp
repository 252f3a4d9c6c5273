#pragma once

#include "adapters/rtp/pairing_link.hpp"
#include "net/dialer.hpp"
#include "trust/pairing/gateway_pairing.hpp"
#include "trust/pairing/pairing_keys.hpp"
#include "trust/pairing/pairing_slots.hpp"
#include "trust/pairing/peer_store.hpp"

#include <memory>
#include <string>

namespace crab::rtp {

/// How a pairing came out.
struct Paired {
    std::string pairing_id;
    trust::PeerRecord peer;
};

/// The gateway's side of pairings over real connections: plans, takes a slot, dials, lets GatewayPairing talk. One per gateway, on one
/// loop; everything here runs on that loop's thread. Source: docs/protocols/rtp.md, sections 5.1, 5.8 and 6.
class PairingDialer {
public:
    /// What outlives the dialer and every pairing.
    struct Services {
        net::EventLoop& loop;
        BlockingPool& pool;
        const trust::GatewayKeys& keys;
        trust::PeerStore& store;
        crypto::RandomSource& random;
        trust::PairingRules rules;
    };

    explicit PairingDialer(Services services) : services_(services) {}

    /// From the request to the committed record; at most 15 s from the dial. A caller that hangs up stops nothing: only cancelling the
    /// coroutine does. Errors: all of PairingCode.
    Task<trust::PairingResult<Paired>> pair(trust::PairingRequest request);

private:
    using Machine = std::shared_ptr<trust::GatewayPairing>;
    struct Line;  // an open connection

    Task<trust::PairingResult<Paired>> pair_planned(trust::PairingPlan plan);
    Task<trust::PairingResult<Line>> dial(const trust::PairingEndpoint& endpoint, Deadline deadline);
    Task<Result<std::vector<net::SocketAddress>>> find_addresses(net::Endpoint endpoint, Deadline deadline);
    Task<Result<std::shared_ptr<net::TlsContext>>> own_tls();

    Services services_;
    trust::PairingSlots slots_;
    std::shared_ptr<net::TlsContext> tls_;  // shows the gateway's own certificate
    SystemTime tls_not_after_{};
};

}  // namespace crab::rtp
