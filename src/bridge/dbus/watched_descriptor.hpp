#pragma once

#include "base/descriptor.hpp"
#include "base/task/waiter.hpp"
#include "net/loop/event_loop.hpp"

#include <cstdint>
#include <memory>

namespace crab::bridge {

/// A descriptor on a loop and the one coroutine that waits for it. Edge-triggered: read or write
/// until EAGAIN, then wait. Used on the loop's thread; must be destroyed before the loop.
class WatchedDescriptor {
public:
    /// `events` are EPOLL* bits. is_open() is false when the kernel refuses.
    WatchedDescriptor(net::EventLoop& loop, Descriptor descriptor, std::uint32_t events);
    WatchedDescriptor(const WatchedDescriptor&) = delete;
    WatchedDescriptor& operator=(const WatchedDescriptor&) = delete;
    ~WatchedDescriptor();

    int get() const { return descriptor_.get(); }
    bool is_open() const { return watch_ != nullptr; }
    /// Sets the events to wait for; events that are already ready wake ready().
    void set_events(std::uint32_t events);
    /// To be awaited: until it may be ready again, the deadline passes, or the chain is cancelled.
    [[nodiscard]] Waiter::Wait ready(Deadline deadline) { return ready_.wait(deadline); }
    /// Has ready() return.
    void wake() { ready_.wake(); }

private:
    class Watch;
    net::EventLoop& loop_;
    Descriptor descriptor_;
    std::uint32_t events_;
    Waiter ready_;
    std::shared_ptr<Watch> watch_;
};

}  // namespace crab::bridge
