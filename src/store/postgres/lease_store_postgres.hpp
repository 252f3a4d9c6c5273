#pragma once

#include "base/ordered_mutex.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/node_claim.hpp"
#include "trust/lease_store.hpp"

#include <functional>
#include <utility>

namespace crab::store::postgres {

/// Leases of peers. Those that are bound to a connection are the node's that has made them: no
/// other one loads them before that has ended. The schema is there. Thread-safe.
class LeaseStorePostgres final : public trust::LeaseStore {
public:
    /// `self` of the node's incarnation; empty for a gateway that is alone.
    LeaseStorePostgres(ConnectionOptions options, std::function<NodeClaim()> self)
        : self_(std::move(self)), database_(std::move(options)) {}

    Result<std::vector<trust::Lease>> load_live(SystemTime now) override;
    Result<void> insert(const trust::Lease& lease) override;
    Result<void> set_expiry(std::string_view lease_id, SystemTime expires_at) override;
    Result<void> end(std::span<const trust::LeaseEnd> ends) override;
    Result<void> forget(SystemTime before) override;

private:
    const std::function<NodeClaim()> self_;
    OrderedMutex<LockRank::kStore> mutex_;
    Connection database_;
};

}  // namespace crab::store::postgres
