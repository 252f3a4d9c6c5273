#pragma once

#include "base/ordered_mutex.hpp"
#include "core/ledger/call_task_store.hpp"
#include "store/sqlite/database.hpp"

#include <filesystem>
#include <memory>

namespace crab::store::sqlite {

/// Tasks in the table `call_tasks` of a file of its own. Thread-safe.
class CallTaskStoreSqlite final : public core::CallTaskStore {
public:
    /// Errors: those of Database.
    static Result<std::unique_ptr<CallTaskStoreSqlite>> open(const std::filesystem::path& path,
                                                             DatabaseOptions options = {});

    Result<bool> add(const core::CallTask& task, const Limits& limits) override;
    Result<std::optional<core::CallTask>> find(std::string_view id) override;
    Result<void> set_resume(std::string_view id, std::string_view resume) override;
    Result<void> cancel(std::string_view id) override;
    Result<bool> end(std::string_view id, std::string_view status, std::string_view outcome,
                     SystemTime at, const Limits& limits) override;
    Result<void> remove(std::string_view id) override;
    Result<std::uint64_t> forget(SystemTime before) override;

private:
    explicit CallTaskStoreSqlite(Database database) : database_(std::move(database)) {}
    Result<bool> has_room(const core::CallTask& task, const Limits& limits);
    Result<bool> has_room_for_end(std::string_view id, std::size_t bytes, const Limits& limits);

    OrderedMutex<LockRank::kStore> mutex_;
    Database database_;
};

}  // namespace crab::store::sqlite
