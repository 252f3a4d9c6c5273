#pragma once

#include "net/loop/event_loop.hpp"

#include <functional>
#include <utility>

namespace crab::net {

/// Calls a function periodically on an event loop until destroyed, on that loop (or after it has
/// ended).
class Periodic final : private TimerNode {
public:
    Periodic(EventLoop& loop, Milliseconds every, std::function<void()> work)
        : loop_(loop), every_(every), work_(std::move(work)) {
        rearm();
    }

private:
    void on_expired() override {
        rearm();
        work_();
    }
    void rearm() { loop_.timers().arm(*this, loop_.clock().steady_now() + every_); }

    EventLoop& loop_;
    const Milliseconds every_;
    const std::function<void()> work_;
};

}  // namespace crab::net
