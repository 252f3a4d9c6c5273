#include "base/blocking_pool.hpp"

#include <sys/resource.h>
#include <unistd.h>

namespace crab {
namespace {

constexpr int kNice = 5;

}  // namespace

BlockingPool::BlockingPool(std::size_t threads) : pool_(static_cast<int>(threads)), open_(pool_.get_executor()) {
    for (std::size_t i = 0; i < threads; ++i) {
        threads_.emplace_back([this] {
            ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);  // of this thread alone on Linux; a wish, so its failure is none
            pool_.run();
        });
    }
}

BlockingPool::~BlockingPool() {
    open_.reset();
    threads_.clear();
}

}  // namespace crab
