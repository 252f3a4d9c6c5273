#pragma once

#include "runtime/component.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace crab::runtime {

/// Starts components in their order, has them serve, reloads all or none of them, and stops them in
/// reverse. Used by one thread at a time, except for metrics.
class Lifecycle {
public:
    /// The components outlive it.
    Lifecycle(const Clock& clock, std::vector<Component*> components)
        : clock_(clock), all_(std::move(components)) {}
    Lifecycle(const Lifecycle&) = delete;
    Lifecycle& operator=(const Lifecycle&) = delete;
    ~Lifecycle() { stop(); }

    /// Starts them in order. If one fails, those before it are stopped in reverse. Errors: that of
    /// the failed component.
    Result<void> start();
    /// The name of the component whose start failed; empty when all have started.
    std::string_view failed() const { return failed_; }
    /// After start(): registers the metrics of every component with `page` and its routes with the
    /// tables of every listener, whose requests are counted on `page` too; then calls begin() of
    /// every component.
    void begin(core::MetricsPage& page);
    /// Applies `next` to all components or none. Errors: the first refusal.
    Result<void> reload(const config::GatewayConfig& next);
    /// Drains, then stops all started components, both in reverse order. Components that exceed
    /// their stop limit are logged. Idempotent.
    void stop();

    /// `crab_component_healthy`, by component.
    void append_health(std::string& out) const;

private:
    void stop(Component& component) const;

    const Clock& clock_;
    const std::vector<Component*> all_;
    std::size_t started_ = 0;  ///< number of started components
    std::string_view failed_;
};

}  // namespace crab::runtime
