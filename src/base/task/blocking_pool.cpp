#include "base/task/blocking_pool.hpp"

#include "base/task/worker_threads.hpp"

#include <cstddef>
#include <latch>

namespace crab {

BlockingPool::BlockingPool(std::size_t threads)
    : pool_(static_cast<int>(threads)),
      open_(pool_.get_executor()),
      threads_(start_workers(threads, [this](const std::stop_token&) { pool_.run(); })) {}

void BlockingPool::settle() {
    // Work starts in posting order: once every thread is here, nothing earlier runs.
    const auto all_here =
        std::make_shared<std::latch>(static_cast<std::ptrdiff_t>(threads_.size()) + 1);
    for (std::size_t i = 0; i < threads_.size(); ++i)
        post([all_here] { all_here->arrive_and_wait(); });
    all_here->arrive_and_wait();
}

BlockingPool::~BlockingPool() {
    open_.reset();
    threads_.clear();
}

}  // namespace crab
