#include "base/task_group.hpp"

#include "base/log.hpp"

#include <cassert>
#include <exception>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/system/system_error.hpp>

namespace crab {
namespace {

void log_failure(const std::string& name, const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const boost::system::system_error& error) {
        if (error.code() == asio::error::operation_aborted) return;  // the usual end of a cancelled wait
        log::error("task failed", {{"task", name}, {"reason", error.what()}});
    } catch (const std::exception& error) {
        log::error("task failed", {{"task", name}, {"reason", error.what()}});
    } catch (...) {
        log::error("task failed", {{"task", name}, {"reason", "not a standard exception"}});
    }
}

}  // namespace

TaskGroup::~TaskGroup() { assert(running_.empty() && "stop() a TaskGroup before it is destroyed"); }

/// Asio 1.81 lets an exception out of the event loop when a cancelled coroutine ends, or has yet to begin, without having been
/// suspended once. So a task hears of no cancellation before it begins, and at its end it has forgotten all of them.
Task<void> TaskGroup::run_to_end(Running& running, Task<void> task) {
    running.begun = true;
    if (running.cancelled) co_return;
    std::exception_ptr failure;
    try {
        co_await std::move(task);
    } catch (...) {
        failure = std::current_exception();
    }
    co_await asio::this_coro::throw_if_cancelled(false);
    if (failure) std::rethrow_exception(failure);
}

void TaskGroup::spawn(std::string name, Task<void> task, std::shared_ptr<void> owner) {
    running_.emplace_back();
    const auto self = std::prev(running_.end());
    self->name = std::move(name);
    auto ended = [this, self, keep = std::move(owner)](const std::exception_ptr& failure) {
        if (failure) log_failure(self->name, failure);
        if (next_ == self) ++next_;
        running_.erase(self);
        if (running_.empty() && on_empty_) std::exchange(on_empty_, nullptr)();
    };
    asio::co_spawn(executor_, run_to_end(*self, std::move(task)), asio::bind_cancellation_slot(self->signal.slot(), std::move(ended)));
}

void TaskGroup::cancel() {
    for (next_ = running_.begin(); next_ != running_.end();) {
        Running& running = *next_++;  // emit() may end any of the tasks; whoever erases the next one moves next_ on
        running.cancelled = true;
        if (running.begun) running.signal.emit(asio::cancellation_type::all);
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
