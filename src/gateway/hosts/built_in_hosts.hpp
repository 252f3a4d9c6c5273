#pragma once

#include "gateway/context/gateway_context.hpp"
#include "gateway/stored/event_log.hpp"
#include "hosts/cron/cron_pass.hpp"
#include "runtime/event_loops.hpp"
#include "sdk/tool_host/hosted_tools.hpp"

#include <memory>
#include <vector>

namespace crab::gateway {

/// The configured built-in tool hosts in this process: memory, and cron, whose jobs fire on the
/// first event loop.
class BuiltInHosts final : public Component {
public:
    BuiltInHosts(const GatewayContext& context, EventLoops& loops, EventLog& events)
        : context_(context), loops_(loops), events_(events) {}

    std::string_view name() const override { return "built-in hosts"; }
    std::span<const ConfigKey> keys() const override;
    /// Errors: those of their stores.
    Result<void> start() override;
    void begin() override;
    void stop(Deadline deadline) override;

private:
    cron::CronPassOptions cron_options();

    const GatewayContext& context_;
    EventLoops& loops_;
    EventLog& events_;
    std::vector<std::unique_ptr<sdk::HostedTools>> hosts_;
};

}  // namespace crab::gateway
