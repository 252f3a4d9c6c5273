#pragma once

#include "net/loop/event_loop.hpp"

#include <thread>

namespace crab::net {

/// A thread that runs one event loop, from its construction to the loop's stop().
class LoopThread {
public:
    /// `loop` must outlive it.
    explicit LoopThread(EventLoop& loop) : loop_(loop), thread_([&loop] { loop.run(); }) {}
    LoopThread(const LoopThread&) = delete;
    LoopThread& operator=(const LoopThread&) = delete;
    /// Stops the loop, unless join() has seen its end.
    ~LoopThread() {
        if (!thread_.joinable()) return;
        loop_.stop();
        thread_.join();
    }

    /// Waits until somebody else has stopped the loop. Once only.
    void join() { thread_.join(); }

private:
    EventLoop& loop_;
    std::thread thread_;
};

}  // namespace crab::net
