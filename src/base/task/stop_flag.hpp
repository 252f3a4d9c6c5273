#pragma once

#include "base/task/task_chain.hpp"

#include <atomic>
#include <memory>

namespace crab {

/// For work on another thread that a coroutine waits for: a flag that is set when the coroutine is
/// cancelled. The wait itself goes on until the work has seen it.
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
