#pragma once

#include "base/task/task_chain.hpp"

#include <coroutine>
#include <cstdint>
#include <utility>

namespace crab {

enum class WaitEnd : std::uint8_t { kWoken, kExpired, kCancelled };

/// Suspends one coroutine until wake() is called, or it is cancelled. It allocates nothing, and
/// wake() resumes the coroutine before it returns. A Waiter adds a deadline. Used on one thread.
class Wakeup final : private Interruptible {
public:
    Wakeup() = default;
    Wakeup(const Wakeup&) = delete;
    Wakeup& operator=(const Wakeup&) = delete;
    ~Wakeup() override {
        if (waiting_) chain_->waits(nullptr);
    }

    class Wait {
    public:
        explicit Wait(Wakeup& wakeup) : wakeup_(wakeup) {}
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> asking) const {
            return wakeup_.begin(asking, asking.promise().chain());
        }
        WaitEnd await_resume() const noexcept { return wakeup_.end_; }

    private:
        Wakeup& wakeup_;
    };

    /// To be awaited. An earlier wake() is not lost: then this returns immediately, as it does with
    /// kCancelled when the chain is already cancelled. At most one coroutine waits at a time.
    [[nodiscard]] Wait wait() { return Wait(*this); }
    /// Without a waiting coroutine it is remembered for the next wait().
    void wake() {
        if (waiting_) {
            end(WaitEnd::kWoken);
        } else {
            woken_ = true;
        }
    }
    /// Forgets a wake() that nobody has waited for.
    void reset() { woken_ = false; }
    bool waiting() const { return waiting_ != nullptr; }

private:
    friend class Waiter;  // which adds the deadline

    bool begin(std::coroutine_handle<> asking, TaskChain& chain) {
        if (std::exchange(woken_, false)) {
            end_ = WaitEnd::kWoken;
            return false;
        }
        if (chain.cancelled()) {  // nobody would interrupt this wait any more
            end_ = WaitEnd::kCancelled;
            return false;
        }
        waiting_ = asking;
        chain_ = &chain;
        chain.waits(this);
        return true;
    }
    void interrupt() override { end(WaitEnd::kCancelled); }
    void end(WaitEnd how) {
        chain_->waits(nullptr);
        end_ = how;
        std::exchange(waiting_, nullptr).resume();  // `this` may be gone afterwards
    }

    std::coroutine_handle<> waiting_;
    TaskChain* chain_ = nullptr;
    WaitEnd end_ = WaitEnd::kWoken;
    bool woken_ = false;
};

}  // namespace crab
