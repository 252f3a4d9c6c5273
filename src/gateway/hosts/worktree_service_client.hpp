#pragma once

#include "adapters/sw4rm/service_client.hpp"
#include "net/loop/loop_group.hpp"

#include <memory>
#include <string>
#include <vector>

namespace crab::gateway {

/// Client of sw4rm's WorktreeService, which knows the worktree of an agent; usable on every event
/// loop. Source: docs/protocols/sw4rm.md, section 8.
class WorktreeServiceClient {
public:
    WorktreeServiceClient(net::LoopGroup& loops, const sw4rm::ServiceClient::Options& service);

    /// `<repo>/<worktree>`, or empty; waits up to 2 s, once per call, even if the call is retried.
    /// Errors: kUnavailable. On any of the loops.
    Task<Result<std::string>> bound_worktree(std::string agent, std::string call);
    /// Closes the connections; call it while the loops run and no query is pending.
    void stop();

private:
    struct LoopPart;
    std::vector<std::shared_ptr<LoopPart>> parts_;
};

}  // namespace crab::gateway
