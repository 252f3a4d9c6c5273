#pragma once

#include "hosts/memory/memory_store.hpp"
#include "store/memory/word_finder.hpp"
#include "store/postgres/connection.hpp"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace crab::store::postgres {

/// The writing connection: makes changes of memories, many in one transaction. Who changes a scope
/// locks its row, so rows of a scope are numbered in the order of their commits. Not thread-safe.
class MemoryChangesPostgres {
public:
    MemoryChangesPostgres(const ConnectionOptions& options, std::unique_ptr<WordFinder> finder)
        : database_(options), finder_(std::move(finder)) {}

    /// As MemoryStore::write().
    std::vector<Result<memory::MemoryWritten>> write(std::span<const memory::MemoryWrite> writes);

private:
    using Answer = Result<memory::MemoryWritten>;
    struct Scope {
        std::int64_t number = 0, added = 0, entries = 0, words = 0;
    };
    struct Batch;

    // Of a Result<Answer> the outer failure is the store's and ends the batch, the inner one
    // concerns a single change.
    Result<void> make_all(std::span<const memory::MemoryWrite> writes, Batch& batch);
    Result<void> lock_scopes(std::span<const memory::MemoryWrite> writes, Batch& batch);
    Result<void> make_scopes(Batch& batch);
    Result<void> find_repeats(std::span<const memory::MemoryWrite> writes, Batch& batch);
    Result<Answer> make(const memory::MemoryWrite& write, Batch& batch);
    Answer append(const memory::MemoryWrite& write, const memory::MemoryAppend& append,
                  Batch& batch);
    Result<Answer> remove(const memory::MemoryWrite& write, const memory::MemoryDelete& what,
                          Batch& batch);
    Result<void> remove_ids(const memory::DeleteIds& ids, Scope& scope,
                            memory::MemoryWritten& written);
    Result<void> insert_added(Batch& batch);
    Result<void> store_scopes(const Batch& batch);
    Result<void> remember(std::span<const memory::MemoryWrite> writes, Batch& batch);

    Connection database_;
    const std::unique_ptr<WordFinder> finder_;
};

}  // namespace crab::store::postgres
