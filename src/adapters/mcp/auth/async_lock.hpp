#pragma once

#include "base/scope_exit.hpp"
#include "base/task/task.hpp"
#include "base/task/waiter.hpp"

#include <list>

namespace crab::mcp {

/// A lock that coroutines of one event loop wait for, first come, first served.
class AsyncLock {
public:
    explicit AsyncLock(TimerWheel& timers) : timers_(timers) {}
    AsyncLock(const AsyncLock&) = delete;
    AsyncLock& operator=(const AsyncLock&) = delete;
    ~AsyncLock() = default;

    /// False when the caller was cancelled; else it holds the lock until unlock().
    Task<bool> lock() {
        if (!held_) {
            held_ = true;
            co_return true;
        }
        Waiting waiting{.waiter = Waiter(timers_)};
        const auto place = waiting_.insert(waiting_.end(), &waiting);
        const ScopeExit leave([&] {
            if (!waiting.given) waiting_.erase(place);
        });
        (void)co_await waiting.waiter.wait(kNoDeadline);
        co_return waiting.given;
    }
    void unlock() {
        held_ = !waiting_.empty();
        if (!held_) return;
        Waiting* const next = waiting_.front();
        waiting_.pop_front();
        next->given = true;
        next->waiter.wake();  // goes on before this returns
    }

private:
    struct Waiting {
        Waiter waiter;
        bool given = false;
    };
    TimerWheel& timers_;
    std::list<Waiting*> waiting_;
    bool held_ = false;
};

}  // namespace crab::mcp
