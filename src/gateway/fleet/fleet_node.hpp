#pragma once

#include "adapters/clawseed/hub.hpp"
#include "base/task/task_group.hpp"
#include "bus/nats/nats_link.hpp"
#include "fleet/catalogue.hpp"
#include "fleet/loop_of_node.hpp"
#include "fleet/registry_directory.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/fleet/fleet_trust.hpp"
#include "gateway/fleet/moved_devices.hpp"
#include "gateway/rules/current_rules.hpp"
#include "gateway/stored/credentials.hpp"
#include "gateway/stored/event_log.hpp"
#include "gateway/stored/fleet_membership.hpp"
#include "runtime/call_path.hpp"
#include "runtime/event_loops.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace crab::gateway {

/// Calls of one event loop: none is run while it is not known who was revoked.
class FleetGate final : public core::CallRunner {
public:
    FleetGate(core::CallRunner& behind, const trust::Tokens& tokens)
        : behind_(behind), tokens_(tokens) {}
    using core::CallRunner::run;
    Task<core::CallEnd> run(core::AuthenticatedCall call, core::FrameSink& sink,
                            core::WhileRunning repeats) override;

private:
    core::CallRunner& behind_;
    const trust::Tokens& tokens_;
};

/// This gateway in its fleet: its lease, the bus on every loop, the devices of other nodes, and
/// what was granted or revoked at them. Without `fleet.nats` it does nothing.
class FleetNode final : public Component {
public:
    struct Uses {
        const GatewayContext& context;
        EventLoops& loops;
        Credentials& credentials;
        CurrentRules& rules;
        FleetMembership& membership;
        EventLog& events;
        std::function<clawseed::Hub&()> hub;
        /// Kinds of what nodes share besides tokens, and what reads each again, on a pool thread
        std::function<std::vector<FleetTrust::Watched>()> shared;
    };
    explicit FleetNode(Uses uses) : uses_(std::move(uses)) {}

    std::string_view name() const override { return "fleet"; }
    /// Errors: kInvalidArgs for a key or a user that cannot be read, kUnavailable for names of
    /// servers that mean nothing.
    Result<void> start() override;
    void begin() override;
    Health health() const override;
    void add_metrics(core::MetricsPage& page) override;
    void drain() override;
    void stop(Deadline deadline) override;

    /// Calls that other nodes still run end for their callers here: nobody knows how.
    void end_waiting(Deadline deadline);

    /// For CallPath: null and empty without a fleet.
    const core::EffectsLease* lease() { return uses_.membership.lease(); }
    CallPath::RunnerOf runner();

private:
    /// Of one event loop.
    struct Part {
        Part(FleetNode& side, std::size_t place, net::EventLoop& loop, core::Pipeline& pipeline);
        fleet::RegistryDirectory directory;
        fleet::LoopOfNode node;
        bus::nats::NatsLink link;
        FleetGate gate;
    };
    Result<void> read_nats(const config::FleetOptions& options);
    bus::Place place_of(std::size_t loop) const;
    /// On the first loop.
    void begin_first();
    void on_hint(std::string_view body);
    Task<void> ring_for_events();
    void begin_trust();
    Task<void> look_around();
    void wait_heard(Deadline deadline);
    void stop_first(std::function<void()> done);
    void append_metrics(std::string& out) const;

    const Uses uses_;
    bus::nats::NatsLink::Options nats_;
    std::optional<BlockingPool> pool_;
    std::optional<fleet::Catalogue> catalogue_;
    std::optional<FleetTrust> trust_;
    std::optional<MovedDevices> moved_;  ///< from begin_first() on
    std::vector<std::unique_ptr<Part>> parts_;  ///< by loop; none: there is no fleet
    std::atomic<bool> draining_{false};
    std::atomic<bool> connected_{false};
    std::atomic<std::size_t> heard_{0};  ///< processes of other nodes
    std::optional<TaskGroup> tasks_;
};

}  // namespace crab::gateway
