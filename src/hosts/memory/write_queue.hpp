#pragma once

#include "base/blocking_pool.hpp"
#include "base/clock.hpp"
#include "base/task.hpp"
#include "hosts/memory/memory_store.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

namespace crab::memory {

/// Gathers the changes of many callers, so that one durable commit pays for all that came while the last one was written.
/// At most one batch is written at a time, on one thread of the pool. Thread-safe. The destructor writes out what waits.
class WriteQueue {
public:
    struct Options {
        std::size_t max_waiting = 16'384;                              ///< changes; more are refused
        std::size_t max_waiting_bytes = std::size_t{64} << 20;         ///< of text in them
        std::size_t max_batch_weight = 2'000;                          ///< entries added or named in one commit, about
    };

    WriteQueue(MemoryStore& store, BlockingPool& pool, const Clock& clock, Options options);
    WriteQueue(MemoryStore& store, BlockingPool& pool, const Clock& clock) : WriteQueue(store, pool, clock, Options{}) {}
    ~WriteQueue();

    /// Returns when the change is durable, on the caller's executor. Cancelling does not take a change back.
    /// Errors: those of MemoryStore::write(); kRateLimited when too many wait; kTimeout when `deadline` passed before its turn
    /// came (nothing was written).
    Task<Result<MemoryWritten>> write(MemoryWrite change, Deadline deadline);

private:
    struct Waiting;
    using Batch = std::vector<std::shared_ptr<Waiting>>;

    bool admit(const std::shared_ptr<Waiting>& waiting);
    void drain();
    Batch take_batch();
    void write_batch(Batch& batch);

    MemoryStore& store_;
    BlockingPool& pool_;
    const Clock& clock_;
    const Options options_;
    std::mutex mutex_;
    std::condition_variable idle_;
    std::deque<std::shared_ptr<Waiting>> waiting_;
    std::size_t waiting_bytes_ = 0;
    bool draining_ = false;   ///< a task on the pool refers to this object
};

}  // namespace crab::memory
