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

void TaskGroup::spawn(std::string name, Task<void> task, std::shared_ptr<void> owner) {
    running_.emplace_back();
    const auto self = std::prev(running_.end());
    self->name = std::move(name);
    auto ended = [this, self, keep = std::move(owner)](const std::exception_ptr& failure) {
        if (failure) log_failure(self->name, failure);
        running_.erase(self);
        if (running_.empty() && on_empty_) std::exchange(on_empty_, nullptr)();
    };
    asio::co_spawn(executor_, std::move(task), asio::bind_cancellation_slot(self->signal.slot(), std::move(ended)));
}

void TaskGroup::cancel() {
    for (auto it = running_.begin(); it != running_.end();) {
        Running& running = *it++;  // emit() may end the task and erase it
        running.signal.emit(asio::cancellation_type::all);
    }
}

void TaskGroup::stop(std::function<void()> done) {
    if (running_.empty()) {
        done();
        return;
    }
    on_empty_ = std::move(done);
    cancel();
}

}  // namespace crab
