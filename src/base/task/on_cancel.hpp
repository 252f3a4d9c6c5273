#pragma once

#include "base/task/task_chain.hpp"

#include <functional>
#include <utility>

namespace crab {

/// Cancellation of work on another thread: calls `tell`, on the coroutine's own thread, when the
/// waiting coroutine is cancelled. The wait itself continues until the work has ended.
class OnCancel final : public Interruptible {
public:
    OnCancel(TaskChain& chain, std::function<void()> tell) : chain_(chain), tell_(std::move(tell)) {
        chain_.waits(this);
    }
    OnCancel(const OnCancel&) = delete;
    OnCancel& operator=(const OnCancel&) = delete;
    ~OnCancel() override { chain_.waits(nullptr); }

private:
    void interrupt() override { tell_(); }

    TaskChain& chain_;
    const std::function<void()> tell_;
};

}  // namespace crab
