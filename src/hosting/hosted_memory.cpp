#include "hosting/hosted_memory.hpp"

#include "hosts/memory/memory_tools.hpp"
#include "net/loop/event_loop.hpp"
#include "store/sqlite/memory_store_sqlite.hpp"

namespace crab::hosting {
namespace {

constexpr std::size_t kMemoryThreads = 3;   // one commits, the others search

}  // namespace

HostedMemory::HostedMemory(std::unique_ptr<memory::MemoryStore> store, const Clock& clock)
    : store_(std::move(store)),
      ids_(clock),
      pool_(kMemoryThreads),
      host_(*store_, pool_, clock, ids_,
            []() -> TimerWheel& { return net::EventLoop::current()->timers(); }) {}

Result<std::unique_ptr<sdk::HostedTools>> HostedMemory::open(const std::filesystem::path& file,
                                                             const Clock& clock) {
    return open(store::sqlite::MemoryStoreSqlite::open(file), clock);
}

Result<std::unique_ptr<sdk::HostedTools>> HostedMemory::open(Store store, const Clock& clock) {
    if (!store) return fail(std::move(store.error()));
    return std::unique_ptr<sdk::HostedTools>(new HostedMemory(std::move(*store), clock));
}

Result<void> HostedMemory::register_in(core::Registry& registry) {
    sdk::register_tools(registry, memory::memory_tools(), host_);
    return {};
}

}  // namespace crab::hosting
