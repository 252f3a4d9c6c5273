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

/// Threads for work that takes a processor's time because somebody asked for it: everybody who asks
/// has a line of its own, the lines take turns, and of one line one piece of work runs at a time,
/// in order. Where cores are short its threads make way for event loops, as those of BlockingPool
/// do. Thread-safe.
class FairPool {
public:
    explicit FairPool(std::size_t threads);
    /// Waits for all that was posted.
    ~FairPool();
    FairPool(const FairPool&) = delete;
    FairPool& operator=(const FairPool&) = delete;

    /// Calls `work` on a thread of the pool until it returns false; between two calls the other
    /// lines have their turn. It must not throw.
    void post(std::string line, std::function<bool()> work);
    /// To be awaited: `work()`, once, as BlockingPool::run().
    template <class F>
    [[nodiscard]] auto run(std::string line, F work) {
        return detail::PoolRun(std::move(work), [this, line = std::move(line)](auto run) mutable {
            post(std::move(line), [run = std::move(run)] {
                run();
                return false;
            });
        });
    }
    /// Waits until nothing is left to do. By none of its own threads.
    void settle();

private:
    void work(const std::stop_token& stop);

    std::mutex mutex_;
    std::condition_variable_any changed_;
    /// Those with work, that which runs included
    std::map<std::string, std::deque<std::function<bool()>>> lines_;
    std::deque<std::string> turns_;  ///< lines of which nothing runs, who is next first
    std::vector<std::jthread> threads_;
};

}  // namespace crab
