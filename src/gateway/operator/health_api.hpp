#pragma once

#include "admin/admin_api.hpp"
#include "admin/source_state.hpp"
#include "gateway/agents/turns.hpp"
#include "gateway/context/gateway_context.hpp"
#include "runtime/workers.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crab::gateway {

/// `GET /v1/admin/health` on the admin socket: what `crab doctor` looks at, from inside; what
/// components say of themselves; certificates, stores, sources of tools and models.
class HealthApi final : public Component {
public:
    struct Uses {
        const GatewayContext& context;
        Workers& workers;
        Turns& turns;
        std::function<std::vector<admin::Unhealthy>()> unhealthy;  ///< any thread
        std::function<std::vector<admin::SourceState>()> sources;  ///< on the pool
    };
    explicit HealthApi(Uses uses) : uses_(std::move(uses)) {}

    std::string_view name() const override { return "health API"; }
    Result<void> start() override { return {}; }
    void add_routes(const ListenerRoutes& table) override;

private:
    Task<void> show(net::HttpExchange& exchange);
    std::string shown() const;

    const Uses uses_;
};

}  // namespace crab::gateway
