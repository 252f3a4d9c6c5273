#include "sdk/handler_pool.hpp"

#include <algorithm>
#include <utility>

namespace crab::sdk {

HandlerPool::HandlerPool(std::size_t threads, std::size_t max_queued) : max_unfinished_(std::max<std::size_t>(threads, 1) + max_queued) {
    for (std::size_t i = 0; i < std::max<std::size_t>(threads, 1); ++i) threads_.emplace_back([this] { work(); });
}

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
    }
    changed_.notify_one();
    return true;
}

void HandlerPool::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
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
