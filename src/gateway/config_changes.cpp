#include "gateway/config_changes.hpp"

namespace crab::gateway {

ConfigChanges config_changes(const config::GatewayConfig& before,
                             const config::GatewayConfig& after) {
    ConfigChanges changes;
    const auto now = [&](std::string_view key, const auto& of) {
        if (!(of(before) == of(after))) changes.now.push_back(key);
    };
    const auto later = [&](std::string_view key, const auto& of) {
        if (!(of(before) == of(after))) changes.at_next_start.push_back(key);
    };
    using Config = const config::GatewayConfig&;
    now("gateway.log", [](Config c) { return c.gateway.log; });
    now("listen.allowed_origins", [](Config c) -> const auto& { return c.listen.allowed_origins; });
    now("listen.host_names", [](Config c) -> const auto& { return c.listen.host_names; });
    now("limits", [](Config c) -> const auto& { return c.limits; });
    now("devices", [](Config c) -> const auto& { return c.devices; });
    now("calls", [](Config c) -> const auto& { return c.calls; });
    now("rates", [](Config c) -> const auto& { return c.rates; });
    now("policy", [](Config c) -> const auto& { return c.policy; });
    now("peers", [](Config c) -> const auto& { return c.peers; });
    now("leases", [](Config c) -> const auto& { return c.leases; });
    now("approvals", [](Config c) -> const auto& { return c.approvals; });
    now("tools", [](Config c) -> const auto& { return c.tools; });
    now("hooks", [](Config c) -> const auto& { return c.hooks; });
    now("artifacts", [](Config c) -> const auto& { return c.artifacts; });
    now("models", [](Config c) -> const auto& { return c.models; });
    now("agent", [](Config c) -> const auto& { return c.agent; });
    now("agents", [](Config c) -> const auto& { return c.agents; });
    later("gateway", [](Config c) {
        config::GatewayOptions options = c.gateway;
        options.log = {};
        return options;
    });
    later("listen", [](Config c) {
        config::ListenOptions options = c.listen;
        options.allowed_origins.clear();
        options.host_names.clear();
        return options;
    });
    later("grpc", [](Config c) -> const auto& { return c.grpc; });
    later("hosts", [](Config c) -> const auto& { return c.hosts; });
    later("pairing", [](Config c) -> const auto& { return c.pairing; });
    later("built_in_hosts", [](Config c) -> const auto& { return c.built_in_hosts; });
    later("events", [](Config c) -> const auto& { return c.events; });
    later("worktrees", [](Config c) -> const auto& { return c.worktrees; });
    later("worktree_service", [](Config c) -> const auto& { return c.worktree_service; });
    later("hitl", [](Config c) -> const auto& { return c.hitl; });
    later("providers", [](Config c) -> const auto& { return c.providers; });
    later("secrets", [](Config c) -> const auto& { return c.secrets; });
    later("audit", [](Config c) -> const auto& { return c.audit; });
    return changes;
}

}  // namespace crab::gateway
