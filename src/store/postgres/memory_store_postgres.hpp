#pragma once

#include "base/ordered_mutex.hpp"
#include "hosts/memory/memory_store.hpp"
#include "store/postgres/memory_changes_postgres.hpp"
#include "store/postgres/memory_search_postgres.hpp"

#include <condition_variable>
#include <memory>
#include <vector>

namespace crab::store::postgres {

/// Memories: one connection writes (MemoryChangesPostgres), two search (MemorySearchPostgres).
/// Thread-safe; a query waits for another only when both are busy.
class MemoryStorePostgres final : public memory::MemoryStore {
public:
    /// Errors: kInternal when there is no tokenizer.
    static Result<std::unique_ptr<MemoryStorePostgres>> open(const ConnectionOptions& options);

    std::vector<Result<memory::MemoryWritten>> write(
        std::span<const memory::MemoryWrite> writes) override;
    Result<memory::MemoryPage> query(const memory::MemoryScope& scope,
                                     const memory::MemoryQuery& query) override;

private:
    MemoryStorePostgres(const ConnectionOptions& options, std::unique_ptr<WordFinder> finder)
        : changes_(options, std::move(finder)) {}

    OrderedMutex<LockRank::kStore> writing_;
    MemoryChangesPostgres changes_;
    OrderedMutex<LockRank::kStore> searching_;
    std::condition_variable_any search_is_idle_;
    std::vector<std::unique_ptr<MemorySearchPostgres>> idle_;
};

}  // namespace crab::store::postgres
