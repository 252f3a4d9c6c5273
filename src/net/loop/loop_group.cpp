#include "net/loop/loop_group.hpp"

namespace crab::net {

LoopGroup::LoopGroup(std::size_t threads, const Clock& clock) {
    for (std::size_t i = 0; i < threads; ++i) loops_.push_back(std::make_unique<EventLoop>(clock));
}

LoopGroup::~LoopGroup() { stop_and_join(); }

void LoopGroup::start() {
    for (const auto& loop : loops_) threads_.emplace_back(*loop);
}

void LoopGroup::stop_and_join() {
    for (const auto& loop : loops_) loop->stop();
    threads_.clear();
}

}  // namespace crab::net
