#pragma once

#include "base/ordered_mutex.hpp"
#include "store/sqlite/database.hpp"
#include "trust/lease_store.hpp"

#include <filesystem>
#include <memory>

namespace crab::store::sqlite {

/// Leases in the table `peer_leases`. Changes are durable when a function returns. Times are kept
/// to the millisecond. Thread-safe.
class LeaseStoreSqlite final : public trust::LeaseStore {
public:
    /// Errors: those of Database.
    static Result<std::unique_ptr<LeaseStoreSqlite>> open(const std::filesystem::path& path,
                                                          DatabaseOptions options = {});

    Result<std::vector<trust::Lease>> load_live(SystemTime now) override;
    Result<void> insert(const trust::Lease& lease) override;
    Result<void> set_expiry(std::string_view lease_id, SystemTime expires_at) override;
    Result<void> end(std::span<const trust::LeaseEnd> ends) override;
    Result<void> forget(SystemTime before) override;

private:
    explicit LeaseStoreSqlite(Database database) : database_(std::move(database)) {}

    OrderedMutex<LockRank::kStore> mutex_;
    Database database_;
};

}  // namespace crab::store::sqlite
