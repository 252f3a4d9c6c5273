#pragma once

#include "base/task/on_cancel.hpp"
#include "base/task/spawn.hpp"
#include "base/task/task.hpp"

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace crab {

/// Awaits `task`, which runs on the thread of `there`: its waits, timers and sessions belong to
/// that loop. The caller resumes on its own executor with the result, or with what the task threw.
/// A cancellation of the caller cancels the task and waits for its end, so that the task may use
/// what the caller holds (on the caller's own thread).
template <class T>
Task<T> run_on(Executor there, Task<T> task) {
    struct State {
        CancelSignal signal;  ///< used on `there`
        std::optional<T> value;
        std::exception_ptr failure;
    };
    TaskChain& chain = co_await this_chain();
    if (chain.executor() == there) co_return co_await std::move(task);
    const auto state = std::make_shared<State>();
    const auto cancel = [there, state] { asio::post(there, [state] { state->signal.emit(); }); };
    {
        const OnCancel on_cancel(chain, cancel);
        const auto begin = [&](std::coroutine_handle<> asking, TaskChain& own) {
            auto on_end = [state, asking, home = own.executor()](std::exception_ptr failure,
                                                                 std::optional<T> value) {
                state->failure = std::move(failure);
                state->value = std::move(value);
                asio::post(home, [asking] { asking.resume(); });
            };
            asio::post(there, [there, state, body = std::move(task),
                               on_end = std::move(on_end)]() mutable {
                spawn(there, std::move(body), std::move(on_end), &state->signal);
            });
            if (own.cancelled()) cancel();  // nobody would interrupt this wait any more
        };
        co_await suspend(begin);
    }
    if (state->failure) std::rethrow_exception(state->failure);
    co_return std::move(*state->value);
}

}  // namespace crab
