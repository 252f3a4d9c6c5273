#pragma once

#include "gateway/component.hpp"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace crab::gateway {

/// The components of a gateway, in the order in which they start; they stop and are destroyed in
/// reverse. Used by one thread at a time, except for metrics.
class Components {
public:
    explicit Components(const Clock& clock) : clock_(clock) {}
    Components(const Components&) = delete;
    Components& operator=(const Components&) = delete;
    /// stop().
    ~Components();

    /// Appends a T constructed from `needs`; it lives as long as the list.
    template <class T, class... Needs>
    T& add(Needs&&... needs) {
        auto made = std::make_unique<T>(std::forward<Needs>(needs)...);
        T& component = *made;
        all_.push_back(std::move(made));
        return component;
    }

    /// Starts them in order. If one fails, those before it are stopped in reverse. Errors: that of
    /// the failed component.
    Result<void> start();
    /// Calls begin() of every component, after start(), and registers their metrics with `page`.
    void begin(core::MetricsPage& page);
    /// Applies `next` to all components or none. Errors: the first refusal.
    Result<void> reload(const config::GatewayConfig& next);
    /// Drains, then stops all started components, both in reverse order. Components that exceed
    /// their stop limit are logged. Idempotent.
    void stop();

    /// What every component declares, in the order of the list.
    std::vector<ConfigKey> keys() const;
    /// `crab_component_healthy`, by component.
    void append_health(std::string& out) const;

    std::vector<std::string_view> names() const;
    /// For tests: makes the start of the named component fail.
    void fail_start_of(std::string_view name) { failing_ = name; }

private:
    void stop(Component& component) const;

    const Clock& clock_;
    std::vector<std::unique_ptr<Component>> all_;
    std::size_t started_ = 0;  ///< number of started components
    std::string_view failing_;
};

}  // namespace crab::gateway
