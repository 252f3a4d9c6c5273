#include "core/call/tool_gate.hpp"

#include "base/scope_exit.hpp"
#include "base/task/waiter.hpp"

namespace crab::core {

/// One call in the line. Whoever frees a place gives it away under the gate's mutex; the waiter
/// learns of it on its own thread.
struct ToolGate::Place : RemoteWaiter {
    using RemoteWaiter::RemoteWaiter;
    bool granted = false;  ///< under the mutex
};

void ToolGate::Permit::give_back() {
    if (const auto gate = std::exchange(gate_, nullptr)) gate->leave();
    if (const auto outer = std::exchange(outer_, nullptr)) outer->leave();
}

ToolGate::Permit& ToolGate::Permit::operator=(Permit&& other) noexcept {
    if (this != &other) {
        give_back();
        gate_ = std::move(other.gate_);
        outer_ = std::move(other.outer_);
    }
    return *this;
}

ToolGate::Permit::~Permit() { give_back(); }

std::optional<ToolGate::Permit> ToolGate::try_enter() {
    const std::scoped_lock lock(mutex_);
    if (running_ >= limit_ || !waiters_.empty()) return std::nullopt;
    Permit permit;
    if (outer_) {
        auto outer = outer_->try_enter();
        if (!outer) return std::nullopt;
        permit = std::move(*outer);
        permit.outer_ = std::move(permit.gate_);
    }
    ++running_;
    permit.gate_ = shared_from_this();
    return permit;
}

Task<Result<ToolGate::Permit>> ToolGate::enter(TimerWheel& timers, Deadline deadline) {
    if (auto permit = try_enter()) co_return std::move(*permit);
    auto permit = co_await wait_in_queue(timers, deadline);
    if (!permit || !outer_) co_return std::move(permit);
    auto outer = co_await outer_->enter(timers, deadline);
    if (!outer) co_return fail(std::move(outer.error()));
    permit->outer_ = std::move(outer->gate_);
    co_return std::move(permit);
}

/// Waits for a place at this gate alone.
Task<Result<ToolGate::Permit>> ToolGate::wait_in_queue(TimerWheel& timers, Deadline deadline) {
    auto place = std::make_shared<Place>((co_await this_chain()).executor(), timers);
    // kept: a loop that goes drops its waiters late
    const std::shared_ptr<ToolGate> here = shared_from_this(), beyond = outer_;
    const bool full_here = here->all_waiting_.fetch_add(1) >= here->queue_;
    const bool full = (beyond && beyond->all_waiting_.fetch_add(1) >= beyond->queue_) || full_here;
    const ScopeExit counted([&] {
        here->all_waiting_.fetch_sub(1);
        if (beyond) beyond->all_waiting_.fetch_sub(1);
    });
    bool free = false;
    if (!full) {
        const std::scoped_lock lock(mutex_);
        free = running_ < limit_ && waiters_.empty();
        if (free) ++running_;
        if (!free) waiters_.push_back(place);
    }
    if (free) co_return Permit(shared_from_this());
    auto refuse = [](std::string message) {
        return fail(Error{.code = ErrorCode::kRateLimited,
                          .message = std::move(message),
                          .details = {},
                          .retryable = true,
                          .retry_after = Milliseconds(1000)});
    };
    if (full) co_return refuse("the tool is busy and its queue is full; call again later");
    const WaitEnd end = co_await place->wait(deadline);
    bool granted = false;
    {
        const std::scoped_lock lock(mutex_);
        granted = place->granted;
        if (!granted) waiters_.remove(place);
    }
    if (granted) {
        Permit permit(shared_from_this());
        if (end == WaitEnd::kCancelled)
            co_return fail(ErrorCode::kCancelled,
                           "the call was cancelled while it waited for its tool");
        co_return std::move(permit);
    }
    if (end == WaitEnd::kCancelled)
        co_return fail(ErrorCode::kCancelled,
                       "the call was cancelled while it waited for its tool");
    co_return refuse(
        "the tool stayed busy until the call's deadline; call again later or with more time");
}

void ToolGate::leave() {
    std::shared_ptr<Place> next;
    {
        const std::scoped_lock lock(mutex_);
        if (waiters_.empty()) {
            --running_;
            return;
        }
        next = std::move(waiters_.front());
        waiters_.pop_front();
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
    return waiters_.size();
}

}  // namespace crab::core
