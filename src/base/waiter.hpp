#pragma once

#include "base/task.hpp"
#include "base/timer_wheel.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace crab {

enum class WaitEnd : std::uint8_t { kWoken, kExpired, kCancelled };

/// One coroutine waits here until somebody calls wake(), a deadline passes, or it is cancelled. It allocates nothing, and
/// wake() resumes the coroutine before it returns. Used on one thread, that of `timers`.
class Waiter final : private TimerNode {
public:
    explicit Waiter(TimerWheel& timers) : timers_(timers) {}

    /// A wake() that came before is not lost: then this returns at once. At most one coroutine waits at a time.
    Task<WaitEnd> wait(Deadline deadline);
    /// Without a waiting coroutine it is remembered for the next wait().
    void wake();
    bool waiting() const { return handler_.has_value(); }

private:
    using Handler = typename asio::async_result<asio::use_awaitable_t<>, void(WaitEnd)>::handler_type;
    void on_expired() override { end(WaitEnd::kExpired); }
    void end(WaitEnd how);

    TimerWheel& timers_;
    std::optional<Handler> handler_;
    bool woken_ = false;
};

/// A Waiter that another thread may wake; held by both sides. wait() belongs to the thread of `timers` and `home`.
class RemoteWaiter : public std::enable_shared_from_this<RemoteWaiter> {
public:
    RemoteWaiter(asio::any_io_executor home, TimerWheel& timers) : home_(std::move(home)), waiter_(timers) {}
    virtual ~RemoteWaiter() = default;

    Task<WaitEnd> wait(Deadline deadline) { return waiter_.wait(deadline); }
    /// From any thread; the coroutine resumes on its own.
    void wake();
    const asio::any_io_executor& home() const { return home_; }

private:
    asio::any_io_executor home_;
    Waiter waiter_;
};

}  // namespace crab
