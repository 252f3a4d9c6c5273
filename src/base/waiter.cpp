#include "base/waiter.hpp"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/post.hpp>

namespace crab {

Task<WaitEnd> Waiter::wait(Deadline deadline) {
    if (woken_) {
        woken_ = false;
        co_return WaitEnd::kWoken;
    }
    const auto cancellation = co_await asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != asio::cancellation_type::none) co_return WaitEnd::kCancelled;
    auto start = [this, deadline](Handler handler) {
        auto slot = asio::get_associated_cancellation_slot(handler);
        handler_.emplace(std::move(handler));
        if (slot.is_connected()) {
            slot.assign([this](asio::cancellation_type) { end(WaitEnd::kCancelled); });
        }
        timers_.arm(*this, deadline);
    };
    co_return co_await asio::async_initiate<const asio::use_awaitable_t<>&, void(WaitEnd)>(std::move(start), asio::use_awaitable);
}

void Waiter::wake() {
    if (handler_) {
        end(WaitEnd::kWoken);
    } else {
        woken_ = true;
    }
}

void Waiter::end(WaitEnd how) {
    if (!handler_) return;
    disarm();
    Handler handler = std::move(*handler_);
    handler_.reset();
    if (auto slot = asio::get_associated_cancellation_slot(handler); slot.is_connected()) slot.clear();
    std::move(handler)(how);  // resumes the coroutine here and now; `this` may be gone afterwards
}

void RemoteWaiter::wake() {
    asio::post(home_, [self = shared_from_this()] { self->waiter_.wake(); });
}

}  // namespace crab
