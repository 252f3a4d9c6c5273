#pragma once

#include "base/byte_budget.hpp"
#include "config/gateway_config.hpp"
#include "core/audit/metrics.hpp"
#include "core/registry/registry.hpp"
#include "runtime/component.hpp"

#include <filesystem>
#include <memory>

namespace crab::store {
class Stores;
}
namespace crab::runtime {  // what a tool host has too
class AuditTrail;
class CallLedger;
class CallPath;
class EventLoops;
class Workers;
}  // namespace crab::runtime

namespace crab::gateway {

class InheritedSockets;

using runtime::AuditTrail;
using runtime::CallLedger;
using runtime::CallPath;
using runtime::Component;
using runtime::ConfigKey;
using runtime::EventLoops;
using runtime::Health;
using runtime::KeyEffect;
using runtime::ListenerKind;
using runtime::ListenerRoutes;
using runtime::reload_key;
using runtime::restart_key;
using runtime::Workers;

/// The paths of a gateway's state and admin socket.
struct GatewayPaths {
    std::filesystem::path state_dir, admin_socket;
};

/// Common dependencies of components; outlives them.
struct GatewayContext {
    const config::GatewayConfig& config;  ///< at start
    const GatewayPaths& paths;
    const Clock& clock;
    /// Set when ConfiguredStores starts, which is before all that use them
    const std::unique_ptr<store::Stores>& stores;
    core::Registry& registry;
    core::MetricsPage& metrics;
    ByteBudgets& budgets;  ///< received bytes that are not processed yet, by principal
    InheritedSockets& sockets;
};

}  // namespace crab::gateway
