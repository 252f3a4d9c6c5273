#pragma once

#include "adapters/sw4rm/service_client.hpp"
#include "base/task/task_group.hpp"
#include "core/approvals/approvals.hpp"
#include "net/loop/event_loop.hpp"

#include <functional>
#include <map>
#include <string>

namespace crab::gateway {

/// Asks sw4rm's HitlService about every call that needs an approval, beside the operators who
/// watch: `approve` allows it once, any other answer denies it, and none is as if nobody had been
/// there. Source: docs/protocols/sw4rm.md, section 9.
class HitlClient {
public:
    /// Watches from here on. `approvals` and `loop` outlive it; RPCs run on the loop.
    HitlClient(core::Approvals& approvals, net::EventLoop& loop,
               sw4rm::ServiceClient::Options service);

    /// From any thread; neither blocks, nor asks anything of `approvals`.
    void on_question(const core::ApprovalQuestion& question);
    /// Whatever was decided: the service need not say any more.
    void on_end(const core::ApprovalQuestion& question);
    /// Gives up what is being asked, and waits for its end; from another thread than the loop's.
    void stop();

private:
    Task<void> ask(core::ApprovalQuestion question);

    core::Approvals& approvals_;
    net::EventLoop& loop_;
    sw4rm::ServiceClient client_;  // on the loop
    core::Approvals::Watch watch_;
    std::map<std::string, TaskChain*, std::less<>> asked_;  // by question, on the loop
    TaskGroup tasks_;  // on the loop
};

}  // namespace crab::gateway
