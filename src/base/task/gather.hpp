#pragma once

#include "base/task/spawn.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

namespace crab {
namespace detail {

/// The running tasks; they end on the thread of the waiting chain.
template <class T>
class Gathering final : public Interruptible {
public:
    explicit Gathering(std::vector<Task<T>> tasks)
        : tasks_(std::move(tasks)),
          values_(tasks_.size()),
          signals_(tasks_.size()),
          left_(tasks_.size()) {}

    void begin(std::coroutine_handle<> asking, TaskChain& chain) {
        asking_ = asking;
        chain_ = &chain;
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            auto on_end = [this, i](const std::exception_ptr& failure, std::optional<T> value) {
                end_of(i, failure, std::move(value));
            };
            spawn(chain.executor(), std::move(tasks_[i]), std::move(on_end), &signals_[i]);
        }
        chain.waits(this);
        if (chain.cancelled()) interrupt();
    }
    /// Cancels all of them; their results still count.
    void interrupt() override {
        for (CancelSignal& signal : signals_) signal.emit();
    }
    std::vector<T> take() {
        if (failure_) std::rethrow_exception(failure_);
        std::vector<T> taken;
        for (auto& value : values_) taken.push_back(*std::move(value));
        return taken;
    }

private:
    void end_of(std::size_t i, const std::exception_ptr& failure, std::optional<T> value) {
        if (failure && !failure_) failure_ = failure;
        values_[i] = std::move(value);
        if (--left_ > 0) return;
        // Not from here: whoever resumes takes this away, and begin() or interrupt() may still be
        // at work.
        asio::post(chain_->executor(), [this] {
            chain_->waits(nullptr);
            asking_.resume();
        });
    }

    std::vector<Task<T>> tasks_;
    std::vector<std::optional<T>> values_;
    std::vector<CancelSignal> signals_;
    std::size_t left_;
    std::exception_ptr failure_;
    std::coroutine_handle<> asking_;
    TaskChain* chain_ = nullptr;
};

}  // namespace detail

/// Runs all tasks concurrently on the caller's executor and returns their results in order; an
/// exception is rethrown when all have ended. A cancellation cancels them all and waits for them.
template <class T>
Task<std::vector<T>> gather(std::vector<Task<T>> tasks) {
    if (tasks.empty()) co_return std::vector<T>();
    detail::Gathering<T> gathering(std::move(tasks));
    const auto begin = [&gathering](std::coroutine_handle<> asking, TaskChain& chain) {
        gathering.begin(asking, chain);
    };
    co_await suspend(begin);
    co_return gathering.take();
}

}  // namespace crab
