#include "base/task/waiter.hpp"

#include <utility>

#include <boost/asio/post.hpp>

namespace crab {

bool Waiter::begin(std::coroutine_handle<> asking, TaskChain& chain, Deadline deadline) {
    if (std::exchange(woken_, false)) {
        end_ = WaitEnd::kWoken;
        return false;
    }
    if (chain.cancelled()) {
        end_ = WaitEnd::kCancelled;
        return false;
    }
    waiting_ = asking;
    chain_ = &chain;
    chain.waits(this);
    timers_.arm(*this, deadline);
    return true;
}

void Waiter::wake() {
    if (waiting_) {
        end(WaitEnd::kWoken);
    } else {
        woken_ = true;
    }
}

void Waiter::end(WaitEnd how) {
    if (!waiting_) return;
    disarm();
    chain_->waits(nullptr);
    end_ = how;
    std::exchange(waiting_, nullptr).resume();  // `this` may be gone afterwards
}

void RemoteWaiter::wake() {
    asio::post(home_, [self = shared_from_this()] { self->waiter_.wake(); });
}

}  // namespace crab
