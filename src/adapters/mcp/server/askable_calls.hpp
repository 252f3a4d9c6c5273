#pragma once

#include "adapters/mcp/server/call_plan.hpp"
#include "adapters/mcp/server/client_request.hpp"
#include "adapters/mcp/server/parked_call.hpp"
#include "adapters/mcp/server/post_answer.hpp"
#include "adapters/mcp/server/server_state.hpp"
#include "adapters/mcp/tasks/task_table.hpp"
#include "base/task/task_group.hpp"
#include "core/pipeline/away_calls.hpp"

#include <functional>
#include <memory>
#include <set>

namespace crab::mcp {

/// Runs the calls of modern clients that can be asked for input or take tasks, apart from their
/// requests, and takes the requests that come again with answers (MRTR). One per event loop.
/// Source: docs/protocols/mcp.md, sections 4.7 and 4.8, "MRTR, as server".
class AskableCalls {
public:
    /// `away`: null: no call waits for a device.
    AskableCalls(net::EventLoop& loop, core::Pipeline& pipeline, core::CallRunner& calls,
                 CallPlans& plans, ServerState& state, core::AwayCalls* away)
        : loop_(loop),
          pipeline_(pipeline),
          runner_(calls),
          plans_(plans),
          state_(state),
          away_(away),
          tasks_(loop.executor()) {}

    /// Whether its client has declared anything that it can be asked for, or takes tasks.
    static bool can_be_asked(const ClientRequest& request);
    /// A first request: runs its call until it ends, asks, or becomes a task. Closing the
    /// connection before that cancels it.
    Task<Reply> begin(const ClientRequest& request, PostAnswer& answer);
    /// One that brings a `requestState`.
    Task<Reply> go_on(const ClientRequest& request, PostAnswer& answer);
    /// Runs again what ran when an earlier gateway ended, with the rights of who asks for it now.
    /// Null when it runs already, or has been ended instead.
    Task<std::shared_ptr<LiveTask>> take_up(core::CallTask row, const ClientRequest& by,
                                            Deadline deadline);
    /// The gateway stops: tasks that the next one can take up are left to it.
    void suspend();
    /// Cancels what runs; `done` is called when it has ended.
    void stop(std::function<void()> done);

private:
    struct Owned;

    Task<Reply> follow(std::shared_ptr<ParkedCall> parked, const ClientRequest& request,
                       PostAnswer& answer);
    Task<void> make_task(std::shared_ptr<ParkedCall> parked);
    Task<void> host(std::shared_ptr<ParkedCall> parked, std::shared_ptr<Owned> owned);
    Task<void> run(ParkedCall& parked, Owned& owned);
    struct Ended {
        CallAnswer answer;
        std::optional<ErrorCode> why{};
        std::vector<core::Question> urls{};  ///< of pages that are to be opened before it runs anew
    };
    Task<Ended> call_once(ParkedCall& parked, Owned& owned);
    Task<std::optional<Error>> wait_for_tool(ParkedCall& parked, Owned& owned, Milliseconds within);
    Task<void> settle(ParkedCall& parked);
    std::shared_ptr<ParkedCall> make_parked(const std::shared_ptr<Owned>& owned,
                                            const std::string& call_id);
    Task<Ended> run_once(ParkedCall& parked, Owned& owned, int round, bool may_ask);
    Reply input_required(const ClientRequest& request, const std::shared_ptr<ParkedCall>& parked,
                         const ParkedCall::News& news);
    Reply task_created(const ClientRequest& request, const TaskState& task) const;

    net::EventLoop& loop_;
    core::Pipeline& pipeline_;
    core::CallRunner& runner_;
    CallPlans& plans_;
    ServerState& state_;
    core::AwayCalls* const away_;
    std::set<std::shared_ptr<ParkedCall>> running_;
    TaskGroup tasks_;
};

}  // namespace crab::mcp
