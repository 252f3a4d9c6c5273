#pragma once

#include "hosts/memory/memory_store.hpp"
#include "store/sqlite/database.hpp"
#include "store/sqlite/memory_index.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace crab::store::sqlite {

/// The writing connection: makes changes of memories, many in one transaction. Not thread-safe.
///
/// Rows are numbered `scope << 32 | n`, so what belongs to a scope lies together, in the tables and
/// in the index.
class MemoryChanges {
public:
    /// Opens the file and brings its schema up to date. Errors: those of Database.
    static Result<std::unique_ptr<MemoryChanges>> open(const std::filesystem::path& path,
                                                       DatabaseOptions options);

    ~MemoryChanges();

    /// As MemoryStore::write().
    std::vector<Result<memory::MemoryWritten>> write(std::span<const memory::MemoryWrite> writes);

private:
    struct Statements;
    struct Scope;
    struct Batch;
    using Answer = Result<memory::MemoryWritten>;

    // Of a Result<Answer> the outer failure is the store's and ends the batch, the inner one
    // concerns a single change.
    MemoryChanges(std::unique_ptr<MemoryIndex> index, Database database,
                  std::unique_ptr<Statements> statements);
    Result<Answer> make(const memory::MemoryWrite& write, Batch& batch);
    Result<std::optional<Answer>> find_repeat(const memory::MemoryWrite& write);
    Result<Answer> append(const memory::MemoryWrite& write, const memory::MemoryAppend& append,
                          Batch& batch);
    Result<Answer> remove(const memory::MemoryWrite& write, const memory::MemoryDelete& what,
                          Batch& batch);
    Result<Scope*> find_scope(const memory::MemoryScope& wanted, Batch& batch);
    Result<std::vector<std::int64_t>> rows_of(const memory::MemoryDelete& what, std::int64_t scope,
                                              std::vector<std::string>& not_found);
    Result<void> remove_row(std::int64_t row, Scope& scope);
    Result<void> insert_added(Batch& batch);
    Result<void> store_scopes(const Batch& batch);
    Result<void> remember(const memory::MemoryWrite& write, const memory::MemoryWritten& written);

    /// Before the database, which refers to it until it is closed
    std::unique_ptr<MemoryIndex> index_;
    Database database_;
    std::unique_ptr<Statements> statements_;
};

}  // namespace crab::store::sqlite
