#include "base/task/task_group.hpp"

#include "base/exception_text.hpp"
#include "base/log.hpp"

#include <cassert>
#include <exception>

namespace crab {
namespace {

/// A task that was cancelled before it was scheduled does not start.
Task<void> unless_cancelled(Task<void> task) {
    if (!(co_await this_chain()).cancelled()) co_await std::move(task);
}

}  // namespace

TaskGroup::~TaskGroup() { assert(running_.empty() && "stop() a TaskGroup before it is destroyed"); }

void TaskGroup::spawn(std::string name, Task<void> task, std::shared_ptr<void> owner) {
    running_.emplace_back();
    const auto self = std::prev(running_.end());
    self->name = std::move(name);
    auto ended = [this, self, keep = std::move(owner)](const std::exception_ptr& failure) {
        if (failure)
            log::error("task failed", {{"task", self->name}, {"reason", text_of(failure)}});
        if (next_ == self) ++next_;
        running_.erase(self);
        if (running_.empty() && on_empty_) std::exchange(on_empty_, nullptr)();
    };
    crab::spawn(executor_, unless_cancelled(std::move(task)), std::move(ended), &self->signal);
}

void TaskGroup::cancel() {
    for (next_ = running_.begin(); next_ != running_.end();) {
        // emit() may end any of the tasks; erasing the next one advances next_
        Running& running = *next_++;
        running.signal.emit();
    }
}

void TaskGroup::stop(std::function<void()> done) {
    cancel();
    if (running_.empty()) {
        done();  // may destroy the group
    } else {
        on_empty_ = std::move(done);
    }
}

}  // namespace crab
