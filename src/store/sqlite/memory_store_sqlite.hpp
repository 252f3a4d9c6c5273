#pragma once

#include "base/ordered_mutex.hpp"
#include "hosts/memory/memory_store.hpp"
#include "store/sqlite/database.hpp"
#include "store/sqlite/memory_changes.hpp"
#include "store/sqlite/memory_search.hpp"

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <vector>

namespace crab::store::sqlite {

/// Memories in one file: one connection writes (MemoryChanges), a few others search (MemorySearch).
/// Thread-safe; a query never waits for a write, and for another query only when all of them are
/// busy.
class MemoryStoreSqlite final : public memory::MemoryStore {
public:
    /// `path` is a file, never `:memory:`. Errors: those of Database.
    static Result<std::unique_ptr<MemoryStoreSqlite>> open(const std::filesystem::path& path,
                                                           DatabaseOptions options = {},
                                                           std::size_t searches = 4);

    std::vector<Result<memory::MemoryWritten>> write(
        std::span<const memory::MemoryWrite> writes) override;
    Result<memory::MemoryPage> query(const memory::MemoryScope& scope,
                                     const memory::MemoryQuery& query) override;

private:
    MemoryStoreSqlite(std::unique_ptr<MemoryChanges> changes,
                      std::vector<std::unique_ptr<MemorySearch>> idle)
        : changes_(std::move(changes)), idle_(std::move(idle)) {}
    std::unique_ptr<MemorySearch> take_search();
    void give_back(std::unique_ptr<MemorySearch> search);

    OrderedMutex<LockRank::kStore> writing_;
    std::unique_ptr<MemoryChanges> changes_;
    OrderedMutex<LockRank::kStore> searching_;
    std::condition_variable_any search_is_idle_;
    std::vector<std::unique_ptr<MemorySearch>> idle_;
};

}  // namespace crab::store::sqlite
