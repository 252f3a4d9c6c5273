#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "core/audit/metrics.hpp"
#include "gateway/config_key.hpp"

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace crab::gateway {

/// How a component is, for whoever watches the gateway.
struct Health {
    bool ok = true;
    std::string reason;  ///< what does not work; empty when all does
};

/// One part of a running gateway. Components start in the order of the list in gateway.cpp and stop
/// in reverse. Each owns what it starts, declares the keys of the configuration that it reads, and
/// knows others only by the references that its constructor takes. A constructor only remembers
/// them: what it needs of others it asks for in start(). All functions but health() and metrics are
/// called by one thread, which no event loop needs and which may block.
class Component {
public:
    Component() = default;
    Component(const Component&) = delete;
    Component& operator=(const Component&) = delete;
    virtual ~Component() = default;

    /// Unique, for logs and metrics: `tool hosts`.
    virtual std::string_view name() const = 0;
    /// The keys whose reader this is. Every key of the schema has one.
    virtual std::span<const ConfigKey> keys() const { return {}; }

    /// Opens, builds and binds; nobody is served yet, for event loops stand still. After an error
    /// stop() is not called: the destructor takes back what had been done.
    virtual Result<void> start() = 0;
    /// Begins what it does by itself, once everything has started.
    virtual void begin() {}

    /// What makes `next` count; empty when there is nothing to do. It must not fail.
    using Change = std::function<void()>;
    /// The first half of a reload: checks and compiles, and changes nothing. `next` outlives the
    /// change. Errors: kInvalidArgs, and then no component changes anything.
    virtual Result<Change> prepare(const config::GatewayConfig& next) {
        (void)next;
        return Change();
    }

    /// From any thread, while it runs.
    virtual Health health() const { return {}; }
    /// After the last start, before anybody is served.
    virtual void add_metrics(core::MetricsPage& page) { (void)page; }

    /// Lets nothing new in from here on; what is in progress goes on. Does not block.
    virtual void drain() {}
    /// How long stop() may take.
    virtual Milliseconds stop_limit() const { return std::chrono::seconds(10); }
    /// Ends what start() and begin() began and waits for it, at most until `deadline` (steady
    /// clock). All that started later has stopped.
    virtual void stop(Deadline deadline) { (void)deadline; }
};

}  // namespace crab::gateway
