#pragma once

#include "adapters/rtp/hosts/peer_hosts.hpp"
#include "adapters/rtp/pairing/peers_api.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/stored/fleet_membership.hpp"
#include "gateway/stored/peer_certificates.hpp"
#include "runtime/audit_trail.hpp"
#include "runtime/workers.hpp"
#include "trust/pairing/peer_store.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace crab::gateway {

/// The gateway's identity and its paired peers: the key files next to `trust.db`, the records in
/// it, certificates. Changes of peers are in the audit log.
class PeerRecords final : public Component {
public:
    PeerRecords(const GatewayContext& context, FleetMembership& membership, Workers& workers,
                AuditTrail& audit)
        : context_(context), membership_(membership), workers_(workers), audit_(audit) {}

    std::string_view name() const override { return "peer records"; }
    std::span<const ConfigKey> keys() const override;
    /// Opens the records in `trust.db`, which has already been checked, and reads or creates the
    /// key files. Errors: those of the store and of the keys' files; kInvalidArgs for an invalid
    /// operator-made CA.
    Result<void> start() override;
    void add_routes(const ListenerRoutes& table) override;
    void stop(Deadline deadline) override;

    const trust::GatewayKeys& keys_of_gateway() const { return *keys_; }
    trust::Peers& peers() { return *peers_; }
    crypto::RandomSource& random() { return random_; }
    rtp::GatewayTls& tls() { return *tls_; }
    /// The TLS context of an operator-made CA; null without one.
    const std::shared_ptr<net::TlsContext>& operator_tls() const { return operator_tls_; }
    /// For listeners that authenticate peers by certificate; valid as long as this.
    PeerCertificates::Services certificates();
    /// Logs and audits connections that fail peer authentication.
    std::function<void(const trust::PeerName&, std::string_view)> mismatch_recorder();
    /// Appends an audit record; false when the rate limit suppresses it.
    bool record(std::string_view kind, const trust::PeerName& peer,
                const std::function<void(json::Writer&)>& members);
    /// Stores when peers were last seen; blocks.
    void flush();

private:
    Result<trust::GatewayKeys> load_keys(const crypto::KeyFolder& folder);
    Result<void> share_keys(const crypto::KeyFolder& folder);

    const GatewayContext& context_;
    FleetMembership& membership_;
    Workers& workers_;
    AuditTrail& audit_;
    crypto::SystemRandom random_;
    std::unique_ptr<trust::PeerStore> store_;
    std::unique_ptr<trust::Peers> peers_;
    std::optional<const trust::GatewayKeys> keys_;
    std::optional<rtp::GatewayTls> tls_;
    std::shared_ptr<net::TlsContext> operator_tls_;
    std::optional<rtp::PeersApi> api_;
};

}  // namespace crab::gateway
