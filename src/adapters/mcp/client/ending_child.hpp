#pragma once

#include "base/process/child_supervisor.hpp"
#include "base/task/timer_wheel.hpp"
#include "net/loop/event_loop.hpp"

#include <memory>

namespace crab::mcp {

/// A child that was told to end and that nobody waits for: its event loop collects it once it has
/// ended, and is not held up by it. Used on that loop.
class EndingChild final : public net::Pollable, private TimerNode {
public:
    /// `child` is there, and was killed, or its supervisor was told to. One that is still there
    /// after `grace` is killed itself. At the end of the loop it is waited for as long.
    static void leave(net::EventLoop& loop, Child child,
                      std::shared_ptr<ChildSupervisor> supervisor, Milliseconds grace);
    ~EndingChild() override;

private:
    EndingChild(net::EventLoop& loop, Child child, std::shared_ptr<ChildSupervisor> supervisor,
                Milliseconds grace);
    void on_ready(std::uint32_t events) override;
    void on_loop_end() override;
    void on_expired() override;

    net::EventLoop& loop_;
    const Milliseconds grace_;
    const std::shared_ptr<ChildSupervisor> supervisor_;  ///< its end is that of what it watches
    Child child_;
    std::shared_ptr<EndingChild> self_;  ///< until it is collected
};

}  // namespace crab::mcp
