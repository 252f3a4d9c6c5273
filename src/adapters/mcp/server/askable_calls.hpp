#pragma once

#include "adapters/mcp/server/call_plan.hpp"
#include "adapters/mcp/server/client_request.hpp"
#include "adapters/mcp/server/parked_call.hpp"
#include "adapters/mcp/server/post_answer.hpp"
#include "adapters/mcp/server/server_state.hpp"
#include "base/task/task_group.hpp"

#include <functional>
#include <memory>

namespace crab::mcp {

/// Runs the calls of modern clients that can be asked for input, and takes the requests that come
/// again with answers (MRTR). One per event loop.
/// Source: docs/protocols/mcp.md, section 4.8, "MRTR, as server".
class AskableCalls {
public:
    AskableCalls(net::EventLoop& loop, core::Pipeline& pipeline, ServerState& state)
        : loop_(loop), pipeline_(pipeline), state_(state), tasks_(loop.executor()) {}

    /// Whether its client has declared anything that it can be asked for.
    static bool can_be_asked(const ClientRequest& request);
    /// A first request: runs its call until it ends or asks. Closing the connection cancels it.
    Task<Reply> begin(const ClientRequest& request, CallPlans& plans, PostAnswer& answer);
    /// One that brings a `requestState`.
    Task<Reply> go_on(const ClientRequest& request, PostAnswer& answer);
    /// Cancels what runs; `done` is called when it has ended.
    void stop(std::function<void()> done) { tasks_.stop(std::move(done)); }

private:
    struct Owned;

    Task<Reply> follow(std::shared_ptr<ParkedCall> parked, const ClientRequest& request,
                       PostAnswer& answer);
    Task<void> host(std::shared_ptr<ParkedCall> parked, std::shared_ptr<Owned> owned);
    Task<void> run(ParkedCall& parked, Owned& owned);
    Reply input_required(const ClientRequest& request, const std::shared_ptr<ParkedCall>& parked,
                         const ParkedCall::News& news);

    net::EventLoop& loop_;
    core::Pipeline& pipeline_;
    ServerState& state_;
    TaskGroup tasks_;
};

}  // namespace crab::mcp
