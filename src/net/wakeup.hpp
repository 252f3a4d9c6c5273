#pragma once

#include "base/task.hpp"

#include <optional>
#include <utility>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>

namespace crab::net {

/// One coroutine waits, someone on the same thread wakes it, at once and on its own stack. A wake-up that comes first is
/// remembered. Nothing is allocated beyond what Asio recycles. Not thread-safe.
class Wakeup {
public:
    Wakeup() = default;
    Wakeup(const Wakeup&) = delete;
    Wakeup& operator=(const Wakeup&) = delete;

    bool waiting() const { return waiter_.has_value(); }
    /// Resumes whoever waits before it returns; otherwise the next wait() ends at once.
    void notify() {
        if (waiter_) {
            resume();
        } else {
            notified_ = true;
        }
    }
    void reset() { notified_ = false; }
    /// Ends with the next notify(), or when the awaiting coroutine is cancelled: what it then does is its own affair.
    Task<void> wait() {
        if (std::exchange(notified_, false)) co_return;
        co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(
            [this](Handler handler) {
                auto slot = asio::get_associated_cancellation_slot(handler);
                if (slot.is_connected()) slot.assign([this](asio::cancellation_type) { if (waiter_) resume(); });
                waiter_.emplace(std::move(handler));
            },
            asio::use_awaitable);
    }

private:
    using Handler = asio::async_result<asio::use_awaitable_t<>, void()>::handler_type;
    void resume() {
        Handler handler = std::move(*waiter_);
        waiter_.reset();
        auto slot = asio::get_associated_cancellation_slot(handler);
        if (slot.is_connected()) slot.clear();
        std::move(handler)();
    }
    std::optional<Handler> waiter_;
    bool notified_ = false;
};

}  // namespace crab::net
