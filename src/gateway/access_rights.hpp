#pragma once

#include "adapters/rtp/hosts/leases_api.hpp"
#include "admin/policy_api.hpp"
#include "gateway/audit_trail.hpp"
#include "gateway/rules_in_force.hpp"
#include "gateway/workers.hpp"
#include "net/loop/periodic.hpp"
#include "store/sqlite/lease_store_sqlite.hpp"
#include "trust/peer_access.hpp"
#include "trust/peers.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace crab::gateway {

/// Rights other than calls: the leases in trust.db, the answer from policy and leases, and the
/// routes that both have. What happens to leases is in the audit log.
class AccessRights final : public Component {
public:
    AccessRights(const GatewayContext& context, Workers& workers, AuditTrail& audit,
                 RulesInForce& rules)
        : context_(context), workers_(workers), audit_(audit), rules_(rules) {}

    std::string_view name() const override { return "rights and leases"; }
    std::span<const ConfigKey> keys() const override;
    /// The file has been checked before. Errors: those of the store.
    Result<void> start() override;
    Result<Change> prepare(const config::GatewayConfig& next) override;
    void add_metrics(core::MetricsPage& page) override;
    void stop(Deadline deadline) override;

    /// Stores the ends of leases every second, and forgets old ones; for as long as what it returns
    /// lives, on `loop`.
    std::unique_ptr<net::Periodic> keep(net::EventLoop& loop);
    /// Ends the leases of a session; may block.
    std::function<void(const core::Principal& owner, const std::string& session_id)>
    on_session_deleted();
    /// Ends the leases of a peer that is not trusted any more; may block.
    std::function<void(const trust::PeerChange&)> on_peer_changed();

    trust::PeerAccess& access() { return *access_; }
    rtp::LeasesApi& leases_api() { return *leases_api_; }
    admin::PolicyApi& policy_api() { return *policy_api_; }

private:
    void flush();

    const GatewayContext& context_;
    Workers& workers_;
    AuditTrail& audit_;
    RulesInForce& rules_;
    std::unique_ptr<store::sqlite::LeaseStoreSqlite> store_;
    std::unique_ptr<trust::Leases> leases_;
    std::optional<trust::PeerAccess> access_;
    std::optional<rtp::LeasesApi> leases_api_;
    std::optional<admin::PolicyApi> policy_api_;
    std::unique_ptr<BlockingPool> housekeeping_;  ///< last: what it was given refers to the rest
};

}  // namespace crab::gateway
