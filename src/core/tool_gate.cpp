#include "core/tool_gate.hpp"

#include "base/waiter.hpp"

namespace crab::core {

/// One call in the line. Whoever frees a place gives it away under the gate's mutex; the waiter learns of it on its own thread.
struct ToolGate::Place : RemoteWaiter {
    using RemoteWaiter::RemoteWaiter;
    bool granted = false;  ///< under the mutex
};

ToolGate::Permit& ToolGate::Permit::operator=(Permit&& other) noexcept {
    if (this != &other) {
        if (gate_) gate_->leave();
        gate_ = std::move(other.gate_);
    }
    return *this;
}

ToolGate::Permit::~Permit() {
    if (gate_) gate_->leave();
}

std::optional<ToolGate::Permit> ToolGate::try_enter() {
    const std::scoped_lock lock(mutex_);
    if (running_ >= limit_ || !line_.empty()) return std::nullopt;
    ++running_;
    return Permit(shared_from_this());
}

Task<Result<ToolGate::Permit>> ToolGate::enter(TimerWheel& timers, Deadline deadline) {
    if (auto permit = try_enter()) co_return std::move(*permit);
    auto place = std::make_shared<Place>((co_await this_chain()).executor(), timers);
    bool full = false;
    {
        const std::scoped_lock lock(mutex_);
        full = line_.size() >= queue_;
        if (!full) line_.push_back(place);
    }
    auto refuse = [](std::string message) {
        return fail(Error{.code = ErrorCode::kRateLimited, .message = std::move(message), .details = {}, .retryable = true, .retry_after = Milliseconds(1000)});
    };
    if (full) co_return refuse("the tool is busy and its queue is full; call again later");
    const WaitEnd end = co_await place->wait(deadline);
    bool granted = false;
    {
        const std::scoped_lock lock(mutex_);
        granted = place->granted;
        if (!granted) line_.remove(place);
    }
    if (granted) {
        Permit permit(shared_from_this());
        if (end == WaitEnd::kCancelled) co_return fail(ErrorCode::kCancelled, "the call was cancelled while it waited for its tool");
        co_return std::move(permit);
    }
    if (end == WaitEnd::kCancelled) co_return fail(ErrorCode::kCancelled, "the call was cancelled while it waited for its tool");
    co_return refuse("the tool stayed busy until the call's deadline; call again later or with more time");
}

void ToolGate::leave() {
    std::shared_ptr<Place> next;
    {
        const std::scoped_lock lock(mutex_);
        if (line_.empty()) {
            --running_;
            return;
        }
        next = std::move(line_.front());
        line_.pop_front();
        next->granted = true;  // the place passes on; running_ stays
    }
    next->wake();
}

std::size_t ToolGate::running() const {
    const std::scoped_lock lock(mutex_);
    return running_;
}

std::size_t ToolGate::waiting() const {
    const std::scoped_lock lock(mutex_);
    return line_.size();
}

}  // namespace crab::core
