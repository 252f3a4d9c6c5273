#pragma once

#include "base/ordered_mutex.hpp"
#include "core/approvals/approval_store.hpp"
#include "store/sqlite/database.hpp"

#include <filesystem>
#include <memory>

namespace crab::store::sqlite {

/// Stored approvals, in the table `approvals`. Changes are durable when a function returns. Times
/// are kept to the millisecond. Thread-safe.
class ApprovalStoreSqlite final : public core::ApprovalStore {
public:
    /// Errors: those of Database.
    static Result<std::unique_ptr<ApprovalStoreSqlite>> open(const std::filesystem::path& path,
                                                             DatabaseOptions options = {});

    Result<std::vector<core::RememberedApproval>> load() override;
    Result<void> keep(const core::RememberedApproval& decision,
                      const std::vector<std::string>& instead) override;
    Result<void> forget(std::string_view id) override;

private:
    explicit ApprovalStoreSqlite(Database database) : database_(std::move(database)) {}

    OrderedMutex<LockRank::kStore> mutex_;
    Database database_;
};

}  // namespace crab::store::sqlite
