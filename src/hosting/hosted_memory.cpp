#include "hosting/hosted_memory.hpp"

#include "hosts/memory/memory_tools.hpp"
#include "net/loop/event_loop.hpp"

namespace crab::hosting {
namespace {

constexpr std::size_t kMemoryThreads = 3;   // one commits, the others search

}  // namespace

HostedMemory::HostedMemory(std::unique_ptr<store::sqlite::MemoryStoreSqlite> store,
                           const Clock& clock)
    : store_(std::move(store)),
      ids_(clock),
      pool_(kMemoryThreads),
      host_(*store_, pool_, clock, ids_,
            []() -> TimerWheel& { return net::EventLoop::current()->timers(); }) {}

Result<std::unique_ptr<sdk::HostedTools>> HostedMemory::open(const std::filesystem::path& file,
                                                             const Clock& clock) {
    auto store = store::sqlite::MemoryStoreSqlite::open(file);
    if (!store) return fail(std::move(store.error()));
    return std::unique_ptr<sdk::HostedTools>(new HostedMemory(std::move(*store), clock));
}

Result<void> HostedMemory::register_in(core::Registry& registry) {
    sdk::register_tools(registry, memory::memory_tools(), host_);
    return {};
}

}  // namespace crab::hosting
