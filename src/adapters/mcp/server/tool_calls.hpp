#pragma once

#include "adapters/mcp/server/client_request.hpp"
#include "adapters/mcp/server/post_answer.hpp"
#include "adapters/mcp/server/tool_lists.hpp"

#include <optional>
#include <string_view>

namespace crab::mcp {

/// `tools/call`: one call through the pipeline, its progress on the answer's stream. One per event
/// loop. Source: docs/protocols/mcp.md, sections 4.3, 4.6, 7.
class ToolCalls {
public:
    ToolCalls(core::Pipeline& pipeline, ToolLists& lists) : pipeline_(pipeline), lists_(lists) {}

    /// The reply, which `answer` has not got yet. Cancelling the coroutine cancels the call. For a
    /// modern client the call ends with its connection, unless others have joined it.
    Task<Reply> run(const ClientRequest& request, net::HttpExchange& exchange, PostAnswer& answer);
    /// What `x-mcp-header` declares for the tool of that listed or own name; null when there is no
    /// such tool. Valid until the next call.
    const std::vector<HeaderParam>* header_params(const core::PrincipalRef& principal,
                                                  std::string_view name);

private:
    core::Pipeline& pipeline_;
    ToolLists& lists_;
};

}  // namespace crab::mcp
