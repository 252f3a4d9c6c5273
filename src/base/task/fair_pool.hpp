#pragma once

#include "base/task/pool_run.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace crab {

/// Worker threads for CPU-bound work on behalf of principals. Each principal has a queue; queues
/// are served round-robin, one item of a queue at a time, in order. Same nice value as
/// BlockingPool. Thread-safe.
class FairPool {
public:
    explicit FairPool(std::size_t threads);
    /// Waits for all that was posted.
    ~FairPool();
    FairPool(const FairPool&) = delete;
    FairPool& operator=(const FairPool&) = delete;

    /// Calls `work` on a pool thread until it returns false; other queues run in between. It must
    /// not throw.
    void post(std::string queue, std::function<bool()> work);
    /// To be awaited: `work()`, once, as BlockingPool::run().
    template <class F>
    [[nodiscard]] auto run(std::string queue, F work) {
        return detail::PoolRun(std::move(work), [this, queue = std::move(queue)](auto run) mutable {
            post(std::move(queue), [run = std::move(run)] {
                run();
                return false;
            });
        });
    }
    /// Waits until all queues are empty. Not from its own threads.
    void settle();

private:
    void work(const std::stop_token& stop);

    std::mutex mutex_;
    std::condition_variable_any changed_;
    /// Queues with work, running items included
    std::map<std::string, std::deque<std::function<bool()>>> queues_;
    std::deque<std::string> turns_;  ///< queues without a running item, next first
    std::vector<std::jthread> threads_;
};

}  // namespace crab
