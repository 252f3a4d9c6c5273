#pragma once

#include "base/task/task.hpp"
#include "base/task/timer_wheel.hpp"

#include <cstdint>
#include <memory>

namespace crab {

enum class WaitEnd : std::uint8_t { kWoken, kExpired, kCancelled };

/// Suspends one coroutine until wake() is called, a deadline passes, or it is cancelled. It
/// allocates nothing, and wake() resumes the coroutine before it returns. Used on one thread, that
/// of `timers`.
class Waiter final : private TimerNode, private Interruptible {
public:
    explicit Waiter(TimerWheel& timers) : timers_(timers) {}
    ~Waiter() override {
        if (waiting_) chain_->waits(nullptr);
    }

    class Wait {
    public:
        Wait(Waiter& waiter, Deadline deadline) : waiter_(waiter), deadline_(deadline) {}
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> asking) {
            return waiter_.begin(asking, asking.promise().chain(), deadline_);
        }
        WaitEnd await_resume() const noexcept { return waiter_.end_; }

    private:
        Waiter& waiter_;
        Deadline deadline_;
    };

    /// To be awaited. An earlier wake() is not lost: then this returns immediately, as it does with
    /// kCancelled when the chain is already cancelled. At most one coroutine waits at a time.
    [[nodiscard]] Wait wait(Deadline deadline) { return {*this, deadline}; }
    /// Without a waiting coroutine it is remembered for the next wait().
    void wake();
    bool waiting() const { return waiting_ != nullptr; }

private:
    bool begin(std::coroutine_handle<> asking, TaskChain& chain, Deadline deadline);
    void on_expired() override { end(WaitEnd::kExpired); }
    void interrupt() override { end(WaitEnd::kCancelled); }
    void end(WaitEnd how);

    TimerWheel& timers_;
    std::coroutine_handle<> waiting_;
    TaskChain* chain_ = nullptr;
    WaitEnd end_ = WaitEnd::kWoken;
    bool woken_ = false;
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
