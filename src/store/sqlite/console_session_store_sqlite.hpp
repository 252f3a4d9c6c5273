#pragma once

#include "base/ordered_mutex.hpp"
#include "console/session_store.hpp"
#include "store/sqlite/database.hpp"

#include <filesystem>
#include <memory>

namespace crab::store::sqlite {

/// Sessions of the console in the table `console_session`. Thread-safe.
class ConsoleSessionStoreSqlite final : public console::SessionStore {
public:
    /// Errors: those of Database.
    static Result<std::unique_ptr<ConsoleSessionStoreSqlite>> open(
        const std::filesystem::path& path, DatabaseOptions options = {});

    Result<std::vector<console::StoredSession>> load_all() override;
    Result<void> insert(const console::StoredSession& session) override;
    Result<void> remove(std::span<const std::uint64_t> numbers) override;
    Result<void> record_uses(std::span<const console::SessionUse> uses) override;

private:
    explicit ConsoleSessionStoreSqlite(Database database) : database_(std::move(database)) {}

    OrderedMutex<LockRank::kStore> mutex_;
    Database database_;
};

}  // namespace crab::store::sqlite
