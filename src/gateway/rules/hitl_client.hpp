#pragma once

#include "adapters/sw4rm/service_client.hpp"
#include "base/task/task_group.hpp"
#include "core/approvals/approvals.hpp"
#include "net/loop/event_loop.hpp"

#include <functional>
#include <map>
#include <string>

namespace crab::gateway {

/// Asks sw4rm's HitlService about every call that needs an approval, in addition to watching
/// operators: `approve` allows it once, any other answer denies it, no answer counts as unattended.
/// Source: docs/protocols/sw4rm.md, section 9.
class HitlClient {
public:
    /// Starts watching. `approvals` and `loop` must outlive it; RPCs run on the loop.
    HitlClient(core::Approvals& approvals, net::EventLoop& loop,
               sw4rm::ServiceClient::Options service);

    /// Thread-safe; neither blocks nor calls `approvals`.
    void on_question(const core::ApprovalQuestion& question);
    /// The request has ended: cancels the RPC.
    void on_end(const core::ApprovalQuestion& question);
    /// Cancels all RPCs and waits; not on the loop's thread.
    void stop();

private:
    Task<void> ask(core::ApprovalQuestion question);

    core::Approvals& approvals_;
    net::EventLoop& loop_;
    sw4rm::ServiceClient client_;  // on the loop
    core::Approvals::Watch watch_;
    std::map<std::string, TaskChain*, std::less<>> asked_;  // by approval request, on the loop
    TaskGroup tasks_;  // on the loop
};

}  // namespace crab::gateway
