#pragma once

#include "adapters/mcp/server/endpoint.hpp"
#include "crypto/random_source.hpp"
#include "gateway/gateway_context.hpp"
#include "gateway/mcp_shared.hpp"
#include "runtime/call_path.hpp"
#include "runtime/component.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace crab::gateway {

/// The gateway as an MCP server: `/mcp` of the public listener, and of the admin socket.
class McpFront final : public Component {
public:
    McpFront(const GatewayContext& context, CallPath& calls, McpShared& shared)
        : context_(context), calls_(calls), shared_(shared) {}

    std::string_view name() const override { return "mcp front"; }
    std::span<const ConfigKey> keys() const override;
    Result<void> start() override;
    void add_routes(const ListenerRoutes& table) override;
    /// Ends the streams that are open; calls go on.
    void drain() override;

private:
    const GatewayContext& context_;
    CallPath& calls_;
    McpShared& shared_;
    crypto::SystemRandom random_;
    std::optional<mcp::ServerState> state_;
    std::vector<std::unique_ptr<mcp::Endpoint>> endpoints_;  ///< by event loop
    std::vector<net::EventLoop*> loops_;
};

}  // namespace crab::gateway
