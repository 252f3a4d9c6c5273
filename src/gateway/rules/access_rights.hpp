#pragma once

#include "adapters/rtp/hosts/leases_api.hpp"
#include "admin/policy_api.hpp"
#include "core/chat/chat_session_store.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/rules/current_rules.hpp"
#include "net/loop/periodic.hpp"
#include "runtime/audit_trail.hpp"
#include "runtime/workers.hpp"
#include "trust/lease_store.hpp"
#include "trust/peer_access.hpp"
#include "trust/peers.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace crab::gateway {

/// Access to actions: the leases in trust.db, decisions from policy and leases, and the routes of
/// both. Changes of leases are in the audit log.
class AccessRights final : public Component {
public:
    AccessRights(const GatewayContext& context, Workers& workers, AuditTrail& audit,
                 CurrentRules& rules)
        : context_(context), workers_(workers), audit_(audit), rules_(rules) {}

    std::string_view name() const override { return "rights and leases"; }
    trust::Leases& leases() { return *leases_; }
    std::span<const ConfigKey> keys() const override;
    /// The file has already been checked. Errors: those of the store.
    Result<void> start() override;
    Result<Change> prepare(const config::GatewayConfig& next) override;
    void add_metrics(core::MetricsPage& page) override;
    void add_routes(const ListenerRoutes& table) override;
    void stop(Deadline deadline) override;

    /// Stores ended leases every second and removes old ones, on `loop`, during the lifetime of the
    /// returned object.
    std::unique_ptr<net::Periodic> keep(net::EventLoop& loop);
    /// Ends the leases of a session; may block.
    std::function<void(const core::Principal& owner, const core::ChatSession& session)>
    on_session_deleted();
    /// Ends the leases of a peer that is no longer trusted; may block.
    std::function<void(const trust::PeerChange&)> on_peer_changed();

    trust::PeerAccess& access() { return *access_; }

private:
    void flush();

    const GatewayContext& context_;
    Workers& workers_;
    AuditTrail& audit_;
    CurrentRules& rules_;
    std::unique_ptr<trust::LeaseStore> store_;
    std::unique_ptr<trust::Leases> leases_;
    std::optional<trust::PeerAccess> access_;
    std::optional<rtp::LeasesApi> leases_api_;
    std::optional<admin::PolicyApi> policy_api_;
    std::unique_ptr<BlockingPool> housekeeping_;  ///< last: its work refers to the other members
};

}  // namespace crab::gateway
