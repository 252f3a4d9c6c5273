#pragma once

#include "gateway/context/gateway_context.hpp"
#include "runtime/audit_trail.hpp"
#include "runtime/event_loops.hpp"
#include "runtime/state_folder.hpp"
#include "runtime/workers.hpp"

/// Components that tool hosts have too (src/runtime), as the configuration of a gateway makes them.
namespace crab::gateway {

class ConfiguredStateFolder final : public runtime::StateFolder {
public:
    explicit ConfiguredStateFolder(const GatewayContext& context)
        : StateFolder(context.paths.state_dir) {}
    std::span<const ConfigKey> keys() const override;
};

class ConfiguredAuditTrail final : public runtime::AuditTrail {
public:
    explicit ConfiguredAuditTrail(const GatewayContext& context);
    std::span<const ConfigKey> keys() const override;
};

class ConfiguredEventLoops final : public runtime::EventLoops {
public:
    explicit ConfiguredEventLoops(const GatewayContext& context)
        : EventLoops(context.clock, context.config.gateway.threads) {}
    std::span<const ConfigKey> keys() const override;
};

/// With as many lookups of names at once as may hang: one for each server that the configuration
/// names, and some of peers.
Workers::Options workers_of(const config::GatewayConfig& config);

}  // namespace crab::gateway
