#pragma once

#include "adapters/rtp/hosts/host_directory.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/context/session_workers.hpp"
#include "runtime/event_loops.hpp"

#include <memory>
#include <vector>

namespace crab::gateway {

/// The configured tool hosts as options of the RTP adapter. Errors: kInvalidArgs naming the host
/// with the invalid socket.
Result<std::vector<rtp::RtpHost::Options>> make_tool_host_options(
    const config::GatewayConfig& config);

/// The tool hosts that the gateway calls: the configured ones, and those among its peers.
class ToolHosts final : public Component {
public:
    ToolHosts(const GatewayContext& context, EventLoops& loops, SessionWorkers& workers)
        : context_(context), loops_(loops), workers_(workers) {}

    std::string_view name() const override { return "tool hosts"; }
    std::span<const ConfigKey> keys() const override;
    /// Errors: those of make_tool_host_options().
    Result<void> start() override;
    void begin() override { directory_->start(); }
    void add_metrics(core::MetricsPage& page) override;
    void stop(Deadline deadline) override;

    rtp::HostDirectory& directory() { return *directory_; }

private:
    const GatewayContext& context_;
    EventLoops& loops_;
    SessionWorkers& workers_;
    std::unique_ptr<rtp::HostDirectory> directory_;
};

}  // namespace crab::gateway
