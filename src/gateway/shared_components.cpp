#include "gateway/shared_components.hpp"

#include <algorithm>

namespace crab::gateway {

std::span<const ConfigKey> ConfiguredStateFolder::keys() const {
    static constexpr ConfigKey kKeys[] = {
        restart_key("gateway.state_dir", [](auto& c) -> auto& { return c.gateway.state_dir; }),
        restart_key("gateway.runtime_dir", [](auto& c) -> auto& { return c.gateway.runtime_dir; })};
    return kKeys;
}

ConfiguredAuditTrail::ConfiguredAuditTrail(const GatewayContext& context)
    : AuditTrail(context.clock, {.file = context.paths.state_dir / "audit.db",
                                 .kept = context.config.audit.retention}) {}

std::span<const ConfigKey> ConfiguredAuditTrail::keys() const {
    static constexpr ConfigKey kKeys[] = {
        restart_key("audit", [](auto& c) -> auto& { return c.audit; })};
    return kKeys;
}

std::span<const ConfigKey> ConfiguredEventLoops::keys() const {
    static constexpr ConfigKey kKeys[] = {
        restart_key("gateway.threads", [](auto& c) -> auto& { return c.gateway.threads; })};
    return kKeys;
}

Workers::Options workers_of(const config::GatewayConfig& config) {
    const std::size_t named = config.providers.size() + config.models.size() + config.hosts.size() +
                              (config.hitl ? 1 : 0) + (config.worktree_service ? 1 : 0);
    return {.threads = 4, .names = std::clamp<std::size_t>(named + 2, 4, 16)};
}

}  // namespace crab::gateway
