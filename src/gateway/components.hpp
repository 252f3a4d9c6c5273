#pragma once

#include "gateway/component.hpp"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace crab::gateway {

/// The components of a gateway, in the order in which they start; they stop and are destroyed in
/// reverse. Used by one thread at a time, but for the metrics.
class Components {
public:
    explicit Components(const Clock& clock) : clock_(clock) {}
    Components(const Components&) = delete;
    Components& operator=(const Components&) = delete;
    /// stop().
    ~Components();

    /// Appends a T made of `needs`, which lives as long as the list.
    template <class T, class... Needs>
    T& add(Needs&&... needs) {
        auto made = std::make_unique<T>(std::forward<Needs>(needs)...);
        T& component = *made;
        all_.push_back(std::move(made));
        return component;
    }

    /// Starts one after the other. When one fails, those before it are stopped, the last first.
    /// Errors: that of the one which failed.
    Result<void> start();
    /// Has every component begin, after start(), and lists their metrics in `page`.
    void begin(core::MetricsPage& page);
    /// Has every component take `next` over, or none. Errors: that of the first which refuses it.
    Result<void> reload(const config::GatewayConfig& next);
    /// Drains all that has started, then stops it, both in reverse order. One that needs longer
    /// than it may is named in the log when its time is over. Idempotent.
    void stop();

    /// What every component declares, in the order of the list.
    std::vector<ConfigKey> keys() const;
    /// `crab_component_healthy`, by component.
    void append_health(std::string& out) const;

    std::vector<std::string_view> names() const;
    /// For tests: has the start of the component of that name fail.
    void fail_start_of(std::string_view name) { failing_ = name; }

private:
    void stop(Component& component) const;

    const Clock& clock_;
    std::vector<std::unique_ptr<Component>> all_;
    std::size_t started_ = 0;  ///< of them, counted from the first
    std::string_view failing_;
};

}  // namespace crab::gateway
