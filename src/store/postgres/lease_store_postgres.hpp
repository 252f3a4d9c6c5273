#pragma once

#include "base/ordered_mutex.hpp"
#include "store/postgres/connection.hpp"
#include "trust/lease_store.hpp"

#include <utility>

namespace crab::store::postgres {

/// Leases of peers. The schema is there. Thread-safe.
class LeaseStorePostgres final : public trust::LeaseStore {
public:
    explicit LeaseStorePostgres(ConnectionOptions options) : database_(std::move(options)) {}

    Result<std::vector<trust::Lease>> load_live(SystemTime now) override;
    Result<void> insert(const trust::Lease& lease) override;
    Result<void> set_expiry(std::string_view lease_id, SystemTime expires_at) override;
    Result<void> end(std::span<const trust::LeaseEnd> ends) override;
    Result<void> forget(SystemTime before) override;

private:
    OrderedMutex<LockRank::kStore> mutex_;
    Connection database_;
};

}  // namespace crab::store::postgres
