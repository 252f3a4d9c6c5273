#include "gateway/components.hpp"

#include "base/log.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

/// Says in the log, as soon as the time of a component is over, that it has not stopped. It is
/// waited for all the same: what it still does may use what would be stopped next.
class LateStop {
public:
    LateStop(std::string_view component, Milliseconds limit)
        : thread_([this, component, limit] {
              std::unique_lock lock(mutex_);
              if (ended_.wait_for(lock, limit, [this] { return over_; })) return;
              log::warn("a component has not stopped in its time",
                        {{"component", component}, {"limit_ms", limit.count()}});
          }) {}
    LateStop(const LateStop&) = delete;
    LateStop& operator=(const LateStop&) = delete;
    ~LateStop() {
        {
            const std::scoped_lock lock(mutex_);
            over_ = true;
        }
        ended_.notify_one();
        thread_.join();
    }

private:
    std::mutex mutex_;
    std::condition_variable ended_;
    bool over_ = false;
    std::thread thread_;  ///< last: it uses the rest
};

}  // namespace

Components::~Components() {
    stop();
    while (!all_.empty()) all_.pop_back();
}

Result<void> Components::start() {
    for (const auto& component : all_) {
        Result<void> started = fail(ErrorCode::kUnavailable, "a test has this start fail");
        if (component->name() != failing_) started = component->start();
        if (!started) {
            log::error("a component did not start",
                       {{"component", component->name()}, {"reason", started.error().message}});
            stop();
            return started;
        }
        started_ += 1;
    }
    return {};
}

void Components::begin(core::MetricsPage& page) {
    for (const auto& component : all_) component->add_metrics(page);
    page.add([this](std::string& out) { append_health(out); });
    for (const auto& component : all_) component->begin();
}

Result<void> Components::reload(const config::GatewayConfig& next) {
    std::vector<Component::Change> changes;
    for (std::size_t i = 0; i < started_; ++i) {
        auto change = all_[i]->prepare(next);
        if (!change) return fail(std::move(change.error()));
        if (*change) changes.push_back(std::move(*change));
    }
    for (const Component::Change& change : changes) change();
    return {};
}

void Components::stop() {
    for (std::size_t i = started_; i > 0; --i) all_[i - 1]->drain();
    for (; started_ > 0; --started_) stop(*all_[started_ - 1]);
}

void Components::stop(Component& component) const {
    const Milliseconds limit = component.stop_limit();
    const LateStop watched(component.name(), limit);
    component.stop(clock_.steady_now() + limit);
}

std::vector<ConfigKey> Components::keys() const {
    std::vector<ConfigKey> keys;
    for (const auto& component : all_)
        keys.insert(keys.end(), component->keys().begin(), component->keys().end());
    return keys;
}

void Components::append_health(std::string& out) const {
    out +=
        "# HELP crab_component_healthy 1 while a part of the gateway works as it should.\n# TYPE "
        "crab_component_healthy gauge\n";
    for (const auto& component : all_) {
        fmt::format_to(std::back_inserter(out), "crab_component_healthy{{component=\"{}\"}} {}\n",
                       component->name(), component->health().ok ? 1 : 0);
    }
}

std::vector<std::string_view> Components::names() const {
    std::vector<std::string_view> names;
    for (const auto& component : all_) names.push_back(component->name());
    return names;
}

}  // namespace crab::gateway
