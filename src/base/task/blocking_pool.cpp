#include "base/task/blocking_pool.hpp"

#include <cstddef>
#include <latch>

#include <sys/resource.h>
#include <unistd.h>

namespace crab {
namespace {

constexpr int kNice = 5;

}  // namespace

BlockingPool::BlockingPool(std::size_t threads)
    : pool_(static_cast<int>(threads)), open_(pool_.get_executor()) {
    for (std::size_t i = 0; i < threads; ++i) {
        threads_.emplace_back([this] {
            ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()),
                          kNice);  // of this thread only on Linux; best effort
            pool_.run();
        });
    }
}

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
