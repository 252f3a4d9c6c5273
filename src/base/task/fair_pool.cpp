#include "base/task/fair_pool.hpp"

#include "base/task/worker_threads.hpp"

namespace crab {

FairPool::FairPool(std::size_t threads)
    : threads_(start_workers(threads, [this](const std::stop_token& stop) { work(stop); })) {}

FairPool::~FairPool() { settle(); }

void FairPool::post(std::string queue, std::function<bool()> work) {
    {
        const std::scoped_lock lock(mutex_);
        auto& waiting = queues_[queue];
        waiting.push_back(std::move(work));
        if (waiting.size() > 1) return;  // the queue is scheduled already, or runs
        turns_.push_back(std::move(queue));
    }
    changed_.notify_all();
}

void FairPool::work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !turns_.empty(); })) {
        const auto queue = queues_.find(turns_.front());
        turns_.pop_front();
        std::function<bool()> next = std::move(queue->second.front());
        lock.unlock();
        const bool more = next();
        if (!more) next = nullptr;  // released before the end is reported
        lock.lock();
        if (more) {
            queue->second.front() = std::move(next);
        } else {
            queue->second.pop_front();
        }
        if (queue->second.empty()) {
            queues_.erase(queue);
        } else {
            turns_.push_back(queue->first);
        }
        changed_.notify_all();
    }
}

void FairPool::settle() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return queues_.empty(); });
}

}  // namespace crab
