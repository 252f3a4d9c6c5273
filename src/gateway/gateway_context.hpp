#pragma once

#include "base/byte_budget.hpp"
#include "config/gateway_config.hpp"
#include "core/audit/metrics.hpp"
#include "core/registry/registry.hpp"

#include <filesystem>

namespace crab::gateway {

/// Where a gateway keeps what it keeps, and where its operator finds it.
struct GatewayPaths {
    std::filesystem::path state_dir, admin_socket;
};

/// What components are made of beside each other; all of it outlives them.
struct GatewayContext {
    const config::GatewayConfig& config;  ///< of the start
    const GatewayPaths& paths;
    const Clock& clock;
    core::Registry& registry;
    core::MetricsPage& metrics;
    ByteBudgets& budgets;  ///< by principal: what it has sent and nobody has dealt with yet
};

}  // namespace crab::gateway
