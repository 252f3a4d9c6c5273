#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "core/audit/metrics.hpp"
#include "runtime/config_key.hpp"
#include "runtime/listener_routes.hpp"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crab::runtime {

/// Health of a component.
struct Health {
    bool ok = true;
    std::string reason;  ///< what does not work; empty when healthy
};

/// One part of a running process that serves calls: a gateway, or a tool host. Components start in
/// the order of a list and stop in reverse. Each owns what it starts, declares the keys of the
/// configuration that it reads, and knows others only by the references that its constructor takes.
/// A constructor only stores them; they are used from start() on. All functions except health() and
/// metrics are called on one thread, which no event loop needs and which may block.
class Component {
public:
    Component() = default;
    Component(const Component&) = delete;
    Component& operator=(const Component&) = delete;
    virtual ~Component() = default;

    /// Unique name for logs and metrics, such as `tool hosts`.
    virtual std::string_view name() const = 0;
    /// The configuration keys that this component reads. In a gateway every key of the schema has
    /// one reader.
    virtual std::span<const ConfigKey> keys() const { return {}; }

    /// Opens, builds and binds; nothing is served yet, because the event loops do not run. After an
    /// error stop() is not called: the destructor cleans up.
    virtual Result<void> start() = 0;
    /// Starts background work, once all components have started.
    virtual void begin() {}

    /// Applies a new configuration; empty when there is nothing to do. Must not fail.
    using Change = std::function<void()>;
    /// First phase of a reload: validates `next`, which outlives the change, and changes nothing.
    /// In `next`, keys that need a restart are as they were at the start. Errors: kInvalidArgs, and
    /// then no component changes anything.
    virtual Result<Change> prepare(const config::GatewayConfig& next) {
        (void)next;
        return Change();
    }

    /// Thread-safe while it runs.
    virtual Health health() const { return {}; }
    /// Called after the last start, before anything is served.
    virtual void add_metrics(core::MetricsPage& page) { (void)page; }
    /// The route tables of a listener; they live as long as it does.
    virtual std::vector<ListenerRoutes> tables() { return {}; }
    /// Adds its routes to the table of a listener. Called for every table, after the last start,
    /// before anything is served.
    virtual void add_routes(const ListenerRoutes& table) { (void)table; }

    /// Accepts no new work; work in progress continues. Does not block.
    virtual void drain() {}
    /// How long stop() may take.
    virtual Milliseconds stop_limit() const { return std::chrono::seconds(10); }
    /// Stops everything that start() and begin() started, at most until `deadline` (steady clock).
    /// Components that started later have already stopped.
    virtual void stop(Deadline deadline) { (void)deadline; }
};

}  // namespace crab::runtime
