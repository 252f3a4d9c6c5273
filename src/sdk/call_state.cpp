#include "sdk/call_state.hpp"

#include "core/call/traceparent.hpp"

#include <utility>

namespace crab::sdk {

CallOrigin CallState::checked(CallOrigin origin) {
    if (!core::parse_traceparent(origin.traceparent)) origin.traceparent.clear();
    return origin;
}

const json::Value* CallState::find(std::string_view name) {
    std::call_once(parse_once_, [this] {
        if (auto parsed = json::Value::parse(args_)) parsed_ = std::move(*parsed);
    });
    return parsed_.find(name);
}

void CallState::cancel() {
    std::vector<std::function<void()>> callbacks;
    {
        const std::scoped_lock lock(mutex_);
        if (cancelled_.exchange(true, std::memory_order_acq_rel)) return;
        callbacks.swap(callbacks_);
    }
    for (const auto& callback : callbacks) callback();
}

void CallState::on_cancel(std::function<void()> callback) {
    {
        const std::scoped_lock lock(mutex_);
        if (!cancelled()) {
            callbacks_.push_back(std::move(callback));
            return;
        }
    }
    callback();
}

void CallState::log(std::string line) {
    if (line.size() > kMostLogBytes) line.resize(kMostLogBytes);
    const std::scoped_lock lock(mutex_);
    if (logs_.size() < kMostLogs) logs_.push_back(std::move(line));
}

std::vector<std::string> CallState::take_logs() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(logs_, {});
}

}  // namespace crab::sdk
