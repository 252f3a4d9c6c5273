#include "core/policy/agent_claim.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::core {

Result<void> settle_agent(Call& call, const Principal& principal, const Policy& policy) {
    std::string_view& agent = call.context.agent_id;
    call.claimed_agent = agent;
    if (agent.empty() || agent == principal.id) {
        agent = principal.id;
        call.acts_for_agent = false;
        return {};
    }
    call.acts_for_agent = call.acts_for_agent || policy.may_act_for(principal, agent);
    if (call.acts_for_agent) return {};
    const std::size_t size = principal.id.size() + 1 + agent.size();
    if (size > call.made_agent.size()) {
        return fail(
            ErrorCode::kInvalidArgs,
            fmt::format(
                "agent_id: a name of at most {} bytes; {} does not act for an agent of this name",
                call.made_agent.size() - principal.id.size() - 1, principal.id));
    }
    char* end = std::ranges::copy(principal.id, call.made_agent.data()).out;
    *end++ = '/';
    std::ranges::copy(agent, end);
    agent = std::string_view(call.made_agent.data(), size);
    return {};
}

}  // namespace crab::core
