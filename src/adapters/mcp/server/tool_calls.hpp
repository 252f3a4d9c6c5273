#pragma once

#include "adapters/mcp/server/artifact_reads.hpp"
#include "adapters/mcp/server/askable_calls.hpp"
#include "adapters/mcp/server/call_answer.hpp"
#include "adapters/mcp/server/call_plan.hpp"
#include "adapters/mcp/server/client_request.hpp"
#include "adapters/mcp/server/post_answer.hpp"
#include "adapters/mcp/server/server_state.hpp"
#include "adapters/mcp/server/task_methods.hpp"
#include "adapters/mcp/server/tool_lists.hpp"
#include "adapters/mcp/server/tool_search.hpp"

#include <functional>
#include <string_view>

namespace crab::mcp {

/// `tools/call`, `resources/read`, `prompts/get` and `completion/complete`: one call through the
/// pipeline, its progress and log messages on the answer's stream. One per event loop.
/// Source: docs/protocols/mcp.md, sections 4.3, 4.6, 7.
class ToolCalls {
public:
    struct Uses {
        net::EventLoop& loop;
        core::Pipeline& pipeline;
        core::CallRunner& calls;
        ServerState& state;
        ToolLists& tools;
        CatalogLists& catalogs;
        ArtifactReads artifacts;
        core::AwayCalls* away = nullptr;  ///< null: no call waits for a device
        ToolSearch search;
    };
    explicit ToolCalls(const Uses& uses)
        : uses_(uses),
          plans_(uses.tools, uses.catalogs, uses.state.links),
          askable_(uses.loop, uses.pipeline, uses.calls, plans_, uses.state, uses.away),
          tasks_(uses.state, askable_) {}

    /// The reply, which `answer` has not got yet. Cancelling the coroutine cancels the call. For a
    /// modern client the call ends with its connection, unless others have joined it.
    Task<Reply> run(const ClientRequest& request, net::HttpExchange& exchange, PostAnswer& answer);
    /// `tasks/get`, `tasks/update`, `tasks/cancel`, and what listen streams watch.
    TaskMethods& tasks() { return tasks_; }
    /// The gateway stops: what the next one can take up is left to it.
    void suspend() { askable_.suspend(); }
    /// Cancels the calls that run without a connection; `done` is called when they have ended.
    void stop(std::function<void()> done) { askable_.stop(std::move(done)); }
    /// What `x-mcp-header` declares for the tool of that listed or own name; null when there is no
    /// such tool. Valid until the next call.
    const std::vector<HeaderParam>* header_params(const core::PrincipalRef& principal,
                                                  std::string_view name);

private:
    Task<CallAnswer> read_artifact(const ClientRequest& request, const CallPlan& plan);

    const Uses uses_;
    CallPlans plans_;
    AskableCalls askable_;
    TaskMethods tasks_;
    ClientIdentities identities_;
};

}  // namespace crab::mcp
