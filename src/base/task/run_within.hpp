#pragma once

#include "base/result.hpp"
#include "base/task/blocking_pool.hpp"

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace crab {

/// The timers of the event loop that asks, for those who are called on any.
using TimersHere = std::function<TimerWheel&()>;

/// The error of a wait that ended before what was waited for; `begun`: it goes on.
inline Error left_before_end(WaitEnd end, bool begun) {
    const bool late = end == WaitEnd::kExpired;
    std::string message =
        late ? "the deadline passed before this was " : "the caller left before this was ";
    message += begun ? "done; it may still take effect" : "begun; nothing has changed";
    return {.code = late ? ErrorCode::kTimeout : ErrorCode::kCancelled,
            .message = std::move(message),
            .details = {}};
}

/// BlockingPool::run() until `deadline` at the latest. `work()` returns a Result and owns or
/// outlives what it uses, because work that has begun goes on without its caller. Additional
/// errors: kTimeout, or kCancelled for a caller that was cancelled; they say whether it may still
/// take effect. `timers` are the caller's.
template <class F>
Task<std::invoke_result_t<F>> run_within(BlockingPool& pool, F work, TimerWheel& timers,
                                         Deadline deadline) {
    const TaskChain& chain = co_await this_chain();
    const auto posted =
        std::make_shared<detail::PostedWork<F>>(chain.executor(), timers, std::move(work));
    pool.post([posted] { posted->run(); });
    while (!posted->ended.load()) {
        const WaitEnd end = co_await posted->wait(deadline);
        if (end == WaitEnd::kWoken || posted->ended.load()) continue;
        co_return fail(left_before_end(end, posted->begun.exchange(true)));
    }
    co_return posted->work.take();
}

}  // namespace crab
