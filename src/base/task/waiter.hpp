#pragma once

#include "base/task/task.hpp"
#include "base/task/timer_wheel.hpp"
#include "base/task/wakeup.hpp"

#include <memory>

namespace crab {

/// A Wakeup with a deadline: suspends one coroutine until wake() is called, the deadline passes, or
/// it is cancelled. Allocates nothing. Used on one thread, that of `timers`.
class Waiter final : private TimerNode {
public:
    explicit Waiter(TimerWheel& timers) : timers_(timers) {}

    class Wait {
    public:
        Wait(Waiter& waiter, Deadline deadline) : waiter_(waiter), deadline_(deadline) {}
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> asking) const {
            if (!waiter_.wakeup_.begin(asking, asking.promise().chain())) return false;
            waiter_.timers_.arm(waiter_, deadline_);
            return true;
        }
        WaitEnd await_resume() const noexcept {
            waiter_.disarm();
            return waiter_.wakeup_.end_;
        }

    private:
        Waiter& waiter_;
        Deadline deadline_;
    };

    /// To be awaited, as Wakeup::wait().
    [[nodiscard]] Wait wait(Deadline deadline) { return {*this, deadline}; }
    /// Without a waiting coroutine it is remembered for the next wait().
    void wake() { wakeup_.wake(); }
    bool waiting() const { return wakeup_.waiting(); }

private:
    void on_expired() override { wakeup_.end(WaitEnd::kExpired); }

    TimerWheel& timers_;
    Wakeup wakeup_;
};

/// A Waiter that other threads may wake; owned by both sides. wait() belongs to the thread of
/// `timers` and `home`.
class RemoteWaiter : public std::enable_shared_from_this<RemoteWaiter> {
public:
    RemoteWaiter(const Executor& home, TimerWheel& timers) : home_(home), waiter_(timers) {}
    virtual ~RemoteWaiter() = default;

    [[nodiscard]] Waiter::Wait wait(Deadline deadline) { return waiter_.wait(deadline); }
    /// Thread-safe; the coroutine resumes on its own thread.
    void wake();
    const Executor& home() const { return home_; }

private:
    Executor home_;
    Waiter waiter_;
};

}  // namespace crab
