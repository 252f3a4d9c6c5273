#include "store/sqlite/memory_store_sqlite.hpp"

#include "base/scope_exit.hpp"

#include <algorithm>

namespace crab::store::sqlite {

Result<std::unique_ptr<MemoryStoreSqlite>> MemoryStoreSqlite::open(
    const std::filesystem::path& path, DatabaseOptions options, std::size_t searches) {
    auto changes = MemoryChanges::open(path, options);
    if (!changes) return fail(std::move(changes.error()));
    std::vector<std::unique_ptr<MemorySearch>> idle;
    while (idle.size() < std::max<std::size_t>(searches, 1)) {
        auto search = MemorySearch::open(path, options);
        if (!search) return fail(std::move(search.error()));
        idle.push_back(std::move(*search));
    }
    return std::unique_ptr<MemoryStoreSqlite>(
        new MemoryStoreSqlite(std::move(*changes), std::move(idle)));
}

std::vector<Result<memory::MemoryWritten>> MemoryStoreSqlite::write(
    std::span<const memory::MemoryWrite> writes) {
    const std::scoped_lock lock(writing_);
    return changes_->write(writes);
}

Result<memory::MemoryPage> MemoryStoreSqlite::query(const memory::MemoryScope& scope,
                                                    const memory::MemoryQuery& query) {
    auto search = take_search();
    const ScopeExit done([&] { give_back(std::move(search)); });
    return search->find(scope, query);
}

std::unique_ptr<MemorySearch> MemoryStoreSqlite::take_search() {
    std::unique_lock lock(searching_);
    search_is_idle_.wait(lock, [&] { return !idle_.empty(); });
    auto search = std::move(idle_.back());
    idle_.pop_back();
    return search;
}

void MemoryStoreSqlite::give_back(std::unique_ptr<MemorySearch> search) {
    const std::scoped_lock lock(searching_);
    idle_.push_back(std::move(search));
    search_is_idle_.notify_one();
}

}  // namespace crab::store::sqlite
