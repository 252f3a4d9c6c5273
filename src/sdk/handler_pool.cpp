#include "sdk/handler_pool.hpp"

#include <algorithm>
#include <utility>

namespace crab::sdk {

HandlerPool::HandlerPool(std::size_t threads, std::size_t max_queued)
    : max_threads_(std::max<std::size_t>(threads, 1)), max_unfinished_(max_threads_ + max_queued) {}

HandlerPool::~HandlerPool() {
    {
        const std::scoped_lock lock(mutex_);
        closing_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

bool HandlerPool::submit(std::function<void()> job) {
    {
        const std::scoped_lock lock(mutex_);
        if (unfinished_ >= max_unfinished_) return false;
        ++unfinished_;
        queue_.push_back(std::move(job));
        if (queue_.size() > idle_ && threads_.size() < max_threads_)
            threads_.emplace_back([this] { work(); });
    }
    changed_.notify_one();
    return true;
}

void HandlerPool::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        ++idle_;
        changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
        --idle_;
        if (queue_.empty()) return;
        auto job = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        job();
        job = nullptr;  // what it holds goes before its place is free
        lock.lock();
        --unfinished_;
    }
}

}  // namespace crab::sdk
