#pragma once

#include "adapters/rtp/pairing/gateway_tls.hpp"
#include "adapters/rtp/pairing/pairing_link.hpp"
#include "adapters/rtp/pairing/pairing_update.hpp"
#include "net/http/dialer.hpp"
#include "net/http/name_lookups.hpp"
#include "trust/pairing/gateway_pairing.hpp"
#include "trust/pairing/pairing_keys.hpp"
#include "trust/pairing/pairing_slots.hpp"
#include "trust/pairing/peer_store.hpp"

#include <memory>
#include <string>

namespace crab::rtp {

/// The result of a pairing.
struct Paired {
    std::string pairing_id;
    trust::PeerRecord peer;
};

/// The gateway's side of pairings over real connections: plans, takes a slot, dials, and drives
/// GatewayPairing. One per gateway, used on one loop. Source: docs/protocols/rtp.md, sections 5.1,
/// 5.8 and 6.
class PairingDialer {
public:
    /// What outlives the dialer and every pairing.
    struct Services {
        net::EventLoop& loop;
        BlockingPool& pool;
        net::NameLookups& names;
        const trust::GatewayKeys& keys;
        trust::PeerStore& store;
        crypto::RandomSource& random;
        GatewayTls& tls;
        trust::PairingRules rules;
        /// Presents the operator's certificate and requires a chain to the operator's CA and the
        /// host's name; null: there is no such CA.
        std::shared_ptr<net::TlsContext> operator_tls = nullptr;
        PairingObserver told = nullptr;  ///< notified of every pairing that is dialled
    };

    explicit PairingDialer(Services services) : services_(std::move(services)) {}

    /// From the request to the committed record; at most 15 s from the dial. A caller that
    /// disconnects does not stop it; cancelling the coroutine does. Errors: all of PairingCode.
    Task<trust::PairingResult<Paired>> pair(
        trust::PairingRequest request, PairingInitiator initiator = PairingInitiator::kAdminSocket);

private:
    using Machine = std::shared_ptr<trust::GatewayPairing>;
    struct Line;  // an open connection

    Task<trust::PairingResult<Paired>> pair_planned(trust::PairingPlan plan,
                                                    PairingInitiator initiator);
    Task<trust::PairingResult<trust::PeerRecord>> shake_hands(Machine machine, Deadline deadline);
    Task<trust::PairingResult<Line>> dial(const trust::PairingPlan& plan, Deadline deadline);
    Result<std::shared_ptr<net::TlsContext>> tls_for(const trust::PairingPlan& plan);

    Services services_;
    trust::PairingSlots slots_;
};

}  // namespace crab::rtp
