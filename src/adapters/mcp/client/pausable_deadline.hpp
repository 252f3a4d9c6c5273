#pragma once

#include "base/clock.hpp"
#include "base/task/task.hpp"
#include "base/task/timer_wheel.hpp"

namespace crab {
class CancelSignal;
}

namespace crab::mcp {

/// The deadline of a call during which a person may be asked: it stands still while a question is
/// open. Used on one event loop.
class PausableDeadline final : private TimerNode {
public:
    PausableDeadline(TimerWheel& timers, const Clock& clock, Deadline deadline)
        : timers_(timers), clock_(clock), deadline_(deadline) {}

    /// Awaits `work` and cancels it when the time has passed; a cancellation of the caller is
    /// passed on. Once.
    Task<void> keep(Task<void> work);
    /// A question was asked; go_on() when it is answered. Several may be open.
    void pause();
    /// It ends then, if not earlier.
    void end_by(Deadline deadline);
    void go_on();

private:
    void on_expired() override;

    TimerWheel& timers_;
    const Clock& clock_;
    Deadline deadline_;
    SteadyTime paused_at_{};
    unsigned open_ = 0;
    CancelSignal* cut_ = nullptr;  ///< while keep() runs
};

}  // namespace crab::mcp
