#pragma once

#include "base/task/spawn.hpp"
#include "base/task/task_group.hpp"

#include <utility>

namespace crab::mcp {

/// Cancels the tasks of a group and waits until the last has ended; it takes no new ones then.
inline Task<void> join(TaskGroup& group) {
    if (group.size() == 0) co_return;
    const auto begin = [&group](std::coroutine_handle<> asking, TaskChain& chain) {
        group.stop(
            [asking, home = chain.executor()] { run_soon(home, [asking] { asking.resume(); }); });
    };
    co_await suspend(begin);
}

/// Runs `work` to its end, though the awaiting coroutine may be cancelled.
inline Task<void> uninterrupted(Task<void> work) {
    const auto begin = [&work](std::coroutine_handle<> asking, TaskChain& chain) {
        const Executor home = chain.executor();
        spawn(home, std::move(work), [asking, home](const std::exception_ptr&) {
            run_soon(home, [asking] { asking.resume(); });
        });
    };
    co_await suspend(begin);
}

}  // namespace crab::mcp
