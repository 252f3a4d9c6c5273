#include "hosts/memory/write_queue.hpp"

namespace crab::memory {
namespace {

std::size_t weight_of(const MemoryWrite& write) {
    if (const auto* append = std::get_if<MemoryAppend>(&write.change))
        return append->entries.size();
    return 100;
}

std::size_t bytes_of(const MemoryWrite& write) {
    std::size_t bytes = 0;
    if (const auto* append = std::get_if<MemoryAppend>(&write.change)) {
        for (const NewMemory& entry : append->entries)
            bytes += entry.text.size() + entry.tags.size() + entry.metadata.size();
    }
    return bytes;
}

}  // namespace

WriteQueue::WriteQueue(MemoryStore& store, BlockingPool& pool, const Clock& clock, Options options)
    : queue_(
          {.name = "memories",
           .max_waiting = options.max_waiting,
           .max_waiting_bytes = options.max_waiting_bytes,
           .max_batch_weight = options.max_batch_weight},
          [&store](std::vector<MemoryWrite>& writes) { return store.write(writes); }, pool, clock) {
}

Task<Result<MemoryWritten>> WriteQueue::write(MemoryWrite change, TimerWheel& timers,
                                              Deadline deadline) {
    const std::size_t weight = weight_of(change), bytes = bytes_of(change);
    return queue_.ask(std::move(change),
                      {.weight = weight, .bytes = bytes, .deadline = deadline, .timers = &timers});
}

}  // namespace crab::memory
