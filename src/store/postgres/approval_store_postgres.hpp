#pragma once

#include "base/ordered_mutex.hpp"
#include "core/approvals/approval_store.hpp"
#include "store/postgres/connection.hpp"

#include <utility>

namespace crab::store::postgres {

/// Decisions that hold always. The schema is there. Thread-safe.
class ApprovalStorePostgres final : public core::ApprovalStore {
public:
    explicit ApprovalStorePostgres(ConnectionOptions options) : database_(std::move(options)) {}

    Result<std::vector<core::RememberedApproval>> load() override;
    Result<void> keep(const core::RememberedApproval& decision,
                      const std::vector<std::string>& instead) override;
    Result<void> forget(std::string_view id) override;

private:
    OrderedMutex<LockRank::kStore> mutex_;
    Connection database_;
};

}  // namespace crab::store::postgres
