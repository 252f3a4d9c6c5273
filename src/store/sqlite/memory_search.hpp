#pragma once

#include "hosts/memory/memory_store.hpp"
#include "store/memory/memory_order.hpp"
#include "store/sqlite/database.hpp"
#include "store/sqlite/memory_index.hpp"

#include <filesystem>
#include <memory>
#include <vector>

namespace crab::store::sqlite {

struct MemoryExpression;

/// One reading connection: finds a page of memories. Not thread-safe; MemoryStoreSqlite gives one
/// to one query at a time.
class MemorySearch {
public:
    /// Errors: those of Database.
    static Result<std::unique_ptr<MemorySearch>> open(const std::filesystem::path& path,
                                                      DatabaseOptions options);

    Result<memory::MemoryPage> find(const memory::MemoryScope& scope,
                                    const memory::MemoryQuery& query);

private:
    struct Scope;

    MemorySearch(std::unique_ptr<MemoryIndex> index, Database database)
        : index_(std::move(index)), database_(std::move(database)) {}
    Result<memory::MemoryPage> find_in(const Scope& scope, const memory::MemoryQuery& query);
    Result<std::vector<double>> weigh(const Scope& scope, const MemoryExpression& expression);
    Result<std::vector<MemoryMark>> matching(const MemoryExpression& expression,
                                             const memory::MemoryQuery& query,
                                             const MemoryPosition& position, std::int64_t scope);
    Result<std::vector<MemoryMark>> listed(const MemoryExpression& expression,
                                           const memory::MemoryQuery& query,
                                           const MemoryPosition& position, std::int64_t scope);
    Result<memory::MemoryPage> read_page(std::vector<MemoryMark> marks,
                                         const memory::MemoryQuery& query, MemoryPosition position);

    /// Before the database, which refers to it until it is closed
    std::unique_ptr<MemoryIndex> index_;
    Database database_;
};

}  // namespace crab::store::sqlite
