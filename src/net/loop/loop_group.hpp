#pragma once

#include "net/loop/event_loop.hpp"
#include "net/loop/loop_thread.hpp"

#include <deque>
#include <memory>
#include <vector>

namespace crab::net {

/// One EventLoop per core, each with its thread.
class LoopGroup {
public:
    LoopGroup(std::size_t threads, const Clock& clock);
    LoopGroup(const LoopGroup&) = delete;
    LoopGroup& operator=(const LoopGroup&) = delete;
    ~LoopGroup();

    EventLoop& at(std::size_t i) { return *loops_[i]; }
    std::size_t size() const { return loops_.size(); }
    void start();
    /// Stops every loop and waits for its thread; what runs on the loops should have been stopped
    /// before.
    void stop_and_join();

private:
    std::vector<std::unique_ptr<EventLoop>> loops_;
    std::deque<LoopThread> threads_;
};

}  // namespace crab::net
