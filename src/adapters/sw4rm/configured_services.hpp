#pragma once

#include "adapters/sw4rm/messages.hpp"
#include "adapters/sw4rm/service_client.hpp"

#include <expected>
#include <string>
#include <string_view>

/// Clients of sw4rm's WorktreeService and HitlService, if configured (docs/protocols/sw4rm.md,
/// sections 8 and 9). The errors are those of ServiceClient::unary().
namespace crab::sw4rm {

/// HitlService.Decide: the chosen action, unparsed.
Task<std::expected<std::string, CallFailure>> decide(ServiceClient& service,
                                                     HitlInvocation invocation, Deadline patience);

/// WorktreeService.Status: the `<repo>/<worktree>` that the agent is bound to; may be empty.
Task<std::expected<std::string, CallFailure>> bound_worktree(ServiceClient& service,
                                                             std::string_view agent_id,
                                                             Deadline patience);

}  // namespace crab::sw4rm
