#include "store/postgres/memory_store_postgres.hpp"

#include "base/scope_exit.hpp"

namespace crab::store::postgres {
namespace {

constexpr std::size_t kSearches = 2;

}  // namespace

Result<std::unique_ptr<MemoryStorePostgres>> MemoryStorePostgres::open(
    const ConnectionOptions& options) {
    auto finder = WordFinder::make();
    if (!finder) return fail(std::move(finder.error()));
    std::unique_ptr<MemoryStorePostgres> store(
        new MemoryStorePostgres(options, std::move(*finder)));
    while (store->idle_.size() < kSearches) {
        auto own = WordFinder::make();
        if (!own) return fail(std::move(own.error()));
        store->idle_.push_back(std::make_unique<MemorySearchPostgres>(options, std::move(*own)));
    }
    return store;
}

std::vector<Result<memory::MemoryWritten>> MemoryStorePostgres::write(
    std::span<const memory::MemoryWrite> writes) {
    const std::scoped_lock lock(writing_);
    return changes_.write(writes);
}

Result<memory::MemoryPage> MemoryStorePostgres::query(const memory::MemoryScope& scope,
                                                      const memory::MemoryQuery& query) {
    std::unique_ptr<MemorySearchPostgres> search;
    {
        std::unique_lock lock(searching_);
        search_is_idle_.wait(lock, [&] { return !idle_.empty(); });
        search = std::move(idle_.back());
        idle_.pop_back();
    }
    const ScopeExit done([&] {
        const std::scoped_lock lock(searching_);
        idle_.push_back(std::move(search));
        search_is_idle_.notify_one();
    });
    return search->find(scope, query);
}

}  // namespace crab::store::postgres
