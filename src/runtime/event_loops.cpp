#include "runtime/event_loops.hpp"

#include <algorithm>
#include <thread>

namespace crab::runtime {

Result<void> EventLoops::start() {
    const std::size_t threads =
        threads_ != 0 ? threads_ : std::max(1u, std::thread::hardware_concurrency());
    loops_ = std::make_unique<net::LoopGroup>(threads, clock_);
    return {};
}

void EventLoops::run() {
    if (!std::exchange(running_, true)) loops_->start();
}

void EventLoops::stop(Deadline) { loops_->stop_and_join(); }

std::vector<net::EventLoop*> EventLoops::all() {
    std::vector<net::EventLoop*> all;
    for (std::size_t i = 0; i < loops_->size(); ++i) all.push_back(&loops_->at(i));
    return all;
}

}  // namespace crab::runtime
