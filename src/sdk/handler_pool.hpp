#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace crab::sdk {

/// The threads that run handlers, with a bounded queue before them. A thread is made when a job
/// comes and none is idle.
class HandlerPool {
public:
    HandlerPool(std::size_t threads, std::size_t max_queued);
    HandlerPool(const HandlerPool&) = delete;
    HandlerPool& operator=(const HandlerPool&) = delete;
    /// Runs what is queued and waits for it.
    ~HandlerPool();

    /// False, and nothing happens, when all threads are busy and the queue is full. `job` does not
    /// throw. Thread-safe.
    bool submit(std::function<void()> job);

private:
    void work();

    const std::size_t max_threads_, max_unfinished_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> queue_;
    std::size_t unfinished_ = 0;  // queued and running
    std::size_t idle_ = 0;  // threads that wait
    bool closing_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace crab::sdk
