#pragma once

#include "gateway/context/gateway_context.hpp"
#include "gateway/rules/call_approvals.hpp"
#include "gateway/rules/hitl_client.hpp"
#include "runtime/event_loops.hpp"
#include "runtime/workers.hpp"

#include <memory>

namespace crab::gateway {

/// sw4rm's HitlService, which decides on approvals besides operators and chats, if configured.
class HitlService final : public Component {
public:
    HitlService(const GatewayContext& context, EventLoops& loops, Workers& workers,
                CallApprovals& approvals)
        : context_(context), loops_(loops), workers_(workers), approvals_(approvals) {}

    std::string_view name() const override { return "HITL service"; }
    std::span<const ConfigKey> keys() const override;
    /// Errors: those of service_options().
    Result<void> start() override;
    void stop(Deadline deadline) override;

private:
    const GatewayContext& context_;
    EventLoops& loops_;
    Workers& workers_;
    CallApprovals& approvals_;
    std::unique_ptr<HitlClient> client_;  ///< null: there is none
};

}  // namespace crab::gateway
