#pragma once

#include "base/byte_budget.hpp"
#include "config/gateway_config.hpp"
#include "core/audit/metrics.hpp"
#include "core/registry/registry.hpp"

#include <filesystem>

namespace crab::gateway {

/// The paths of a gateway's state and admin socket.
struct GatewayPaths {
    std::filesystem::path state_dir, admin_socket;
};

/// Common dependencies of components; outlives them.
struct GatewayContext {
    const config::GatewayConfig& config;  ///< at start
    const GatewayPaths& paths;
    const Clock& clock;
    core::Registry& registry;
    core::MetricsPage& metrics;
    ByteBudgets& budgets;  ///< received bytes that are not processed yet, by principal
};

}  // namespace crab::gateway
