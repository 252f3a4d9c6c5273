#pragma once

#include "base/task/task_chain.hpp"

#include <atomic>
#include <memory>

namespace crab {

/// Cancellation flag for work on another thread: set when the waiting coroutine is cancelled. The
/// wait itself continues until the work has ended.
class StopFlag final : public Interruptible {
public:
    explicit StopFlag(TaskChain& chain) : chain_(chain) { chain_.waits(this); }
    StopFlag(const StopFlag&) = delete;
    StopFlag& operator=(const StopFlag&) = delete;
    ~StopFlag() override { chain_.waits(nullptr); }
    void interrupt() override { *stopped_ = true; }
    std::shared_ptr<const std::atomic<bool>> flag() const { return stopped_; }

private:
    TaskChain& chain_;
    std::shared_ptr<std::atomic<bool>> stopped_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace crab
