#pragma once

#include "adapters/mcp/auth/guarded_fetch.hpp"
#include "adapters/mcp/auth/resource_server.hpp"
#include "gateway/context/gateway_context.hpp"
#include "runtime/event_loops.hpp"
#include "runtime/workers.hpp"

#include <memory>
#include <vector>

namespace crab::gateway {

/// `mcp.oauth`: access tokens of an issuer count at `/mcp`, and clients are told where to get one.
class McpOauth final : public Component {
public:
    struct Uses {
        const GatewayContext& context;
        EventLoops& loops;
        Workers& workers;
    };
    explicit McpOauth(const Uses& uses) : uses_(uses) {}

    std::string_view name() const override { return "mcp oauth"; }
    std::span<const ConfigKey> keys() const override;
    /// Errors: kInvalidArgs for an issuer or a resource that cannot be one; those of TLS.
    Result<void> start() override;
    void add_routes(const ListenerRoutes& table) override;

    /// What checks tokens on that event loop; null without `mcp.oauth`. Once it has started.
    trust::AccessTokens* tokens(std::size_t loop) {
        return loop < parts_.size() ? &parts_[loop]->server : nullptr;
    }

private:
    /// Of one event loop.
    struct Part {
        Part(net::EventLoop& loop, net::NameLookups& names, std::shared_ptr<net::TlsContext> tls,
             mcp::ResourceOptions options)
            : fetch(loop, names, std::move(tls)),
              server(fetch, loop.timers(), loop.clock(), std::move(options)) {}
        mcp::GuardedFetch fetch;
        mcp::ResourceServer server;
    };

    const Uses uses_;
    std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace crab::gateway
