#include "runtime/lifecycle.hpp"

#include "base/log.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <fmt/format.h>

namespace crab::runtime {
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

/// By listener: its table, which is the same on every event loop, and what each loop counts.
std::vector<net::ListenerMetrics> metrics_of(const std::vector<ListenerRoutes>& tables) {
    std::vector<net::ListenerMetrics> listeners;
    for (const ListenerRoutes& table : tables) {
        const std::string_view name = name_of(table.kind);
        auto found = std::ranges::find(listeners, name, &net::ListenerMetrics::name);
        if (found == listeners.end())
            found = listeners.insert(found, {.name = name, .routes = &table.routes.table()});
        found->loops.push_back(&table.metrics);
    }
    return listeners;
}

}  // namespace

Result<void> Lifecycle::start() {
    for (Component* const component : all_) {
        if (auto started = component->start(); !started) {
            failed_ = component->name();
            stop();
            return started;
        }
        started_ += 1;
    }
    return {};
}

void Lifecycle::begin(core::MetricsPage& page) {
    for (Component* const component : all_) component->add_metrics(page);
    page.add([this](std::string& out) { append_health(out); });
    std::vector<ListenerRoutes> tables;
    for (Component* const listener : all_) {
        for (const ListenerRoutes& table : listener->tables()) tables.push_back(table);
    }
    for (const ListenerRoutes& table : tables) {
        for (Component* const component : all_) component->add_routes(table);
    }
    page.add([listeners = metrics_of(tables)](std::string& out) {
        net::append_route_metrics(out, listeners);
    });
    for (Component* const component : all_) component->begin();
}

Result<void> Lifecycle::reload(const config::GatewayConfig& next) {
    std::vector<Component::Change> changes;
    for (std::size_t i = 0; i < started_; ++i) {
        auto change = all_[i]->prepare(next);
        if (!change) return fail(std::move(change.error()));
        if (*change) changes.push_back(std::move(*change));
    }
    for (const Component::Change& change : changes) change();
    return {};
}

void Lifecycle::stop() {
    for (std::size_t i = started_; i > 0; --i) all_[i - 1]->drain();
    for (; started_ > 0; --started_) stop(*all_[started_ - 1]);
}

void Lifecycle::stop(Component& component) const {
    const Milliseconds limit = component.stop_limit();
    const LateStop watched(component.name(), limit);
    component.stop(clock_.steady_now() + limit);
}

void Lifecycle::append_health(std::string& out) const {
    out +=
        "# HELP crab_component_healthy 1 while a part of the gateway works as it should.\n# TYPE "
        "crab_component_healthy gauge\n";
    for (const Component* const component : all_) {
        fmt::format_to(std::back_inserter(out), "crab_component_healthy{{component=\"{}\"}} {}\n",
                       component->name(), component->health().ok ? 1 : 0);
    }
}

}  // namespace crab::runtime
