#pragma once

#include "base/ordered_mutex.hpp"
#include "core/ledger/call_task_store.hpp"
#include "store/postgres/connection.hpp"

#include <utility>

namespace crab::store::postgres {

/// Calls that outlive their request. What one principal may have is exact, also over nodes. The
/// schema is there. Thread-safe.
class CallTaskStorePostgres final : public core::CallTaskStore {
public:
    explicit CallTaskStorePostgres(ConnectionOptions options) : database_(std::move(options)) {}

    Result<bool> add(const core::CallTask& task, const Limits& limits) override;
    Result<std::optional<core::CallTask>> find(std::string_view id) override;
    Result<void> set_resume(std::string_view id, std::string_view resume) override;
    Result<void> cancel(std::string_view id) override;
    Result<bool> end(std::string_view id, std::string_view status, std::string_view outcome,
                     SystemTime at, const Limits& limits) override;
    Result<void> remove(std::string_view id) override;
    Result<std::uint64_t> forget(SystemTime before) override;

private:
    OrderedMutex<LockRank::kStore> mutex_;
    Connection database_;
};

}  // namespace crab::store::postgres
