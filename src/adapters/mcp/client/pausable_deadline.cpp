#include "adapters/mcp/client/pausable_deadline.hpp"

#include "base/task/on_cancel.hpp"
#include "base/task/spawn.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace crab::mcp {

Task<void> PausableDeadline::keep(Task<void> work) {
    CancelSignal cut;
    std::exception_ptr failure;
    {
        const OnCancel on_cancel(co_await this_chain(), [&cut] { cut.emit(); });
        const auto begin = [&](std::coroutine_handle<> asking, TaskChain& own) {
            auto on_end = [&failure, asking, home = own.executor()](std::exception_ptr thrown) {
                failure = std::move(thrown);
                run_soon(home, [asking] { asking.resume(); });
            };
            cut_ = &cut;
            if (open_ == 0) timers_.arm(*this, deadline_);
            spawn(own.executor(), std::move(work), std::move(on_end), &cut);
            if (own.cancelled()) cut.emit();
        };
        co_await suspend(begin);
    }
    cut_ = nullptr;
    disarm();
    if (failure) std::rethrow_exception(failure);
}

void PausableDeadline::pause() {
    if (open_++ > 0) return;
    paused_at_ = clock_.steady_now();
    disarm();
}

void PausableDeadline::go_on() {
    if (--open_ > 0) return;
    if (deadline_ != kNoDeadline) deadline_ += clock_.steady_now() - paused_at_;
    if (cut_ != nullptr) timers_.arm(*this, deadline_);
}

void PausableDeadline::end_by(Deadline deadline) {
    deadline_ = std::min(deadline_, deadline);
    if (cut_ != nullptr && open_ == 0) timers_.arm(*this, deadline_);
}

void PausableDeadline::on_expired() {
    if (cut_ != nullptr) cut_->emit();
}

}  // namespace crab::mcp
