#pragma once

#include "base/result.hpp"
#include "core/call/call.hpp"
#include "core/policy/policy.hpp"

namespace crab::core {

/// Decides once, before anything is looked up, for which agent a call is. A caller only says a
/// name: if `policy` lets `principal` act for that agent, or the front knows
/// (Call::acts_for_agent), it is the agent's call. Else the name counts within the principal's own
/// names, `caller/ci/planner`, which no agent has and no other principal gets: its worktree,
/// memory, jobs and events are its own. Without a name the call is the principal's. Errors:
/// kInvalidArgs for a name that is too long for that.
Result<void> settle_agent(Call& call, const Principal& principal, const Policy& policy);

}  // namespace crab::core
