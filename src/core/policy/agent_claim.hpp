#pragma once

#include "base/result.hpp"
#include "core/call/call.hpp"
#include "core/policy/policy.hpp"

namespace crab::core {

/// Resolves the agent of a call, before anything else. A claimed agent is accepted if `policy` lets
/// `principal` act for it, or the front vouches for it (Call::acts_for_agent). Otherwise the name
/// is qualified by the principal, `caller/ci/planner`, which cannot collide with an agent or
/// another principal, so its worktree, memory, jobs and events are separate. Without a claim the
/// agent is the principal itself. Errors: kInvalidArgs for a name that is too long.
Result<void> settle_agent(Call& call, const Principal& principal, const Policy& policy);

}  // namespace crab::core
