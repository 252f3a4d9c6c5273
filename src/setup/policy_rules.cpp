#include "setup/policy_rules.hpp"

#include <fmt/format.h>

namespace crab::setup {
namespace {

std::vector<Glob> globs(const std::vector<std::string>& patterns) {
    std::vector<Glob> made;
    for (const std::string& pattern : patterns) made.emplace_back(pattern);
    return made;
}

Result<core::PolicyRule> make_rule(const config::PolicyRule& rule, std::size_t index) {
    core::PolicyRule made;
    made.principal = Glob(rule.principal);
    if (rule.tenant) made.tenant = Glob(*rule.tenant);
    for (const std::string& name : rule.roles) {
        const auto role = core::find_role(name);
        if (!role)
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("policy[{}].roles: {} is not a role", index, name));
        made.roles.add(*role);
    }
    made.sources = globs(rule.sources);
    if (rule.effects) made.effects = *rule.effects == "possible";
    made.call_allow = globs(rule.call_allow);
    made.call_deny = globs(rule.call_deny);
    made.call_needs_approval = globs(rule.call_needs_approval);
    made.register_allow = globs(rule.register_allow);
    made.register_deny = globs(rule.register_deny);
    for (const std::string& agent : rule.act_for) {
        if (agent.contains('/'))
            return fail(
                ErrorCode::kInvalidArgs,
                fmt::format("policy[{}].act_for: {}: an agent's name has no slash", index, agent));
    }
    made.act_for = globs(rule.act_for);
    for (const auto& condition : rule.where) {
        made.where.push_back({.pointer = condition.pointer,
                              .equals = condition.equals_json,
                              .glob = condition.glob,
                              .matches = condition.matches,
                              .min = condition.min,
                              .max = condition.max});
    }
    return made;
}

core::PeerRule make_peer_rule(const config::PeerOptions& peer) {
    core::PeerRule made{.id = peer.id,
                        .role = {},
                        .tenants = globs(peer.tenants),
                        .allow = globs(peer.allow),
                        .deny = globs(peer.deny)};
    // A peer that is an operator comes from another machine; what only the local socket may do
    // stays there.
    if (peer.role)
        made.role = *peer.role == "operator" ? core::Role::kCliAdmin : core::find_role(*peer.role);
    return made;
}

}  // namespace

Result<std::shared_ptr<const core::Policy>> make_policy(const config::GatewayConfig& config) {
    std::vector<core::PolicyRule> rules;
    for (const auto& rule : config.policy) {
        auto made = make_rule(rule, rules.size());
        if (!made) return fail(std::move(made.error()));
        made->line = config.origin.line_of(fmt::format("/policy/{}", rules.size()));
        rules.push_back(std::move(*made));
    }
    std::vector<core::PeerRule> peers;
    for (const auto& peer : config.peers) peers.push_back(make_peer_rule(peer));
    return core::Policy::make(std::move(rules), std::move(peers));
}

}  // namespace crab::setup
