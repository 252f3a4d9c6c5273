#pragma once

#include "base/task/task.hpp"

#include <coroutine>
#include <utility>

namespace crab::net {

/// One coroutine waits, someone on the same thread wakes it, at once and on its own stack. A
/// wake-up that comes first is remembered. Allocates nothing. Not thread-safe.
class Wakeup final : private Interruptible {
public:
    Wakeup() = default;
    Wakeup(const Wakeup&) = delete;
    Wakeup& operator=(const Wakeup&) = delete;
    ~Wakeup() override {
        if (waiting_) chain_->waits(nullptr);
    }

    bool waiting() const { return waiting_ != nullptr; }
    /// Resumes whoever waits before it returns; otherwise the next wait() ends at once.
    void notify() {
        if (waiting_) {
            resume();
        } else {
            notified_ = true;
        }
    }
    void reset() { notified_ = false; }

    class Wait {
    public:
        explicit Wait(Wakeup& wakeup) : wakeup_(wakeup) {}
        bool await_ready() const noexcept { return std::exchange(wakeup_.notified_, false); }
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> asking) const {
            TaskChain& chain = asking.promise().chain();
            if (chain.cancelled()) return false;  // nobody would interrupt this wait any more
            wakeup_.waiting_ = asking;
            wakeup_.chain_ = &chain;
            chain.waits(&wakeup_);
            return true;
        }
        void await_resume() const noexcept {}

    private:
        Wakeup& wakeup_;
    };
    /// To be awaited. Ends with the next notify(), or when the chain is cancelled, immediately if
    /// it already is.
    [[nodiscard]] Wait wait() { return Wait(*this); }

private:
    void interrupt() override { resume(); }
    void resume() {
        chain_->waits(nullptr);
        std::exchange(waiting_, nullptr).resume();  // `this` may be gone afterwards
    }

    std::coroutine_handle<> waiting_;
    TaskChain* chain_ = nullptr;
    bool notified_ = false;
};

}  // namespace crab::net
