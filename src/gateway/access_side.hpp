#pragma once

#include "adapters/rtp/hosts/leases_api.hpp"
#include "admin/policy_api.hpp"
#include "config/gateway_config.hpp"
#include "net/loop/periodic.hpp"
#include "store/sqlite/lease_store_sqlite.hpp"
#include "trust/peer_access.hpp"
#include "trust/peers.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace crab::gateway {

/// Rights beside calls: the leases in trust.db, the answer from policy and leases, and the routes
/// that both have. What happens to leases is in the audit trail.
class AccessSide {
public:
    struct Services {
        const Published<core::CallRules>& rules;
        const Clock& clock;
        BlockingPool& pool;
        core::AuditLog& audit;
    };
    /// The file has been checked before. Errors: those of the store.
    static Result<std::unique_ptr<AccessSide>> open(const std::filesystem::path& trust_db,
                                                    const config::LeaseOptions& options,
                                                    Services services);

    /// Stores the ends of leases every second, and forgets old ones; for as long as what it returns
    /// lives, on `loop`.
    std::unique_ptr<net::Periodic> keep(net::EventLoop& loop);
    void set_options(const config::LeaseOptions& options);
    /// Ends the leases of a session; may block.
    std::function<void(const core::Principal& owner, const std::string& session_id)>
    on_session_deleted();
    /// Ends the leases of a peer that is not trusted any more; may block.
    std::function<void(const trust::PeerChange&)> on_peer_changed();
    void append_metrics(std::string& out) const;

    trust::PeerAccess& access() { return access_; }
    trust::Leases& leases() { return *leases_; }
    rtp::LeasesApi& leases_api() { return leases_api_; }
    admin::PolicyApi& policy_api() { return policy_api_; }

private:
    AccessSide(std::unique_ptr<store::sqlite::LeaseStoreSqlite> store,
               std::unique_ptr<trust::Leases> leases, Services services);

    std::unique_ptr<store::sqlite::LeaseStoreSqlite> store_;
    std::unique_ptr<trust::Leases> leases_;
    trust::PeerAccess access_;
    rtp::LeasesApi leases_api_;
    admin::PolicyApi policy_api_;
    BlockingPool housekeeping_{1};  ///< last: what it was given refers to the rest
};

}  // namespace crab::gateway
