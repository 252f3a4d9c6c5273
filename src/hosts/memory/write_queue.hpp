#pragma once

#include "base/task/batch_queue.hpp"
#include "hosts/memory/memory_store.hpp"

namespace crab::memory {

/// The group commit (base/task/batch_queue.hpp) of memories: one durable commit for the changes of
/// many callers. Thread-safe. The destructor flushes the queue.
class WriteQueue {
public:
    struct Options {
        std::size_t max_waiting = 16'384;  ///< changes; more are refused
        std::size_t max_waiting_bytes = std::size_t{64} << 20;  ///< of text in them
        std::size_t max_batch_weight = 2'000;  ///< entries added or named in one commit, about
    };

    WriteQueue(MemoryStore& store, BlockingPool& pool, const Clock& clock, Options options);
    WriteQueue(MemoryStore& store, BlockingPool& pool, const Clock& clock)
        : WriteQueue(store, pool, clock, Options{}) {}

    /// Returns when the change is durable, on the caller's executor. `timers` are the caller's.
    /// Errors: those of MemoryStore::write(); kRateLimited when too many wait; kTimeout at
    /// `deadline` and kCancelled, which say whether the change may still be made.
    Task<Result<MemoryWritten>> write(MemoryWrite change, TimerWheel& timers, Deadline deadline);

private:
    BatchQueue<MemoryWrite, MemoryWritten> queue_;
};

}  // namespace crab::memory
