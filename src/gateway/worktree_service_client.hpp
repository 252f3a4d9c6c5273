#pragma once

#include "adapters/sw4rm/service_client.hpp"
#include "net/loop/loop_group.hpp"

#include <memory>
#include <string>
#include <vector>

namespace crab::gateway {

/// sw4rm's WorktreeService, asked on every event loop which worktree an agent is bound to. Source:
/// docs/protocols/sw4rm.md, section 8.
class WorktreeServiceClient {
public:
    WorktreeServiceClient(net::LoopGroup& loops, const sw4rm::ServiceClient::Options& service);

    /// `<repo>/<worktree>`, empty for none; the answer has 2 s, and a call that got none in that
    /// time does not wait for it again when it is repeated. Errors: kUnavailable. On any of the
    /// loops.
    Task<Result<std::string>> bound_worktree(std::string agent, std::string call);
    /// Ends the connections; while the loops run and nobody asks.
    void stop();

private:
    struct Lane;
    std::vector<std::shared_ptr<Lane>> lanes_;
};

}  // namespace crab::gateway
