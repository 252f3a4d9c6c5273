#pragma once

#include "adapters/rtp/hosts/host_wire.hpp"
#include "base/task/task_group.hpp"
#include "core/call/circuit_breaker.hpp"
#include "core/call/tool_host.hpp"
#include "net/http/http_client.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace crab::rtp {

/// Runs the tools of one tool host over HTTP, with a pool of connections for each event loop. It
/// never retries: its errors tell the pipeline whether a retry is safe. Source:
/// docs/protocols/rtp.md, section 4.
class RtpHost final : public core::ToolHost {
public:
    struct Options {
        std::string name;  ///< as in the configuration; for messages and logs
        net::HttpAuthority authority;
        std::string path;  ///< before each route, without a `/` at the end
        std::size_t max_calls = 64;  ///< in flight, over all loops
        std::size_t max_waiting = 256;
        std::size_t max_reply_bytes = std::size_t{8} << 20;
    };
    /// `loops` are all loops on which calls may run; they must outlive this.
    RtpHost(Options options, const std::vector<net::EventLoop*>& loops);
    ~RtpHost() override;

    /// Errors: kUnavailable, not started; kPairingRequired, not contacted; kForbidden,
    /// authentication failed; kOutcomeUnknown, sent and not answered; kTimeout, kCancelled;
    /// kInternal for an invalid response; else the host's own error.
    Task<core::Outcome> run(core::AdmittedCall call, core::FrameSink& sink) override;
    /// `GET /v1/tools` from this thread's loop; the raw body. The circuit breaker counts it but
    /// does not block it. Errors: kUnavailable, kTimeout, kForbidden, kOversize, kInternal,
    /// kCancelled.
    Task<Result<std::string>> fetch_tools(Deadline deadline);

    /// `told` is called, on any loop, when the host does not know a tool that it has listed. Set
    /// before calls run.
    void on_unknown_tool(std::function<void()> told) { told_of_unknown_tool_ = std::move(told); }
    /// Whether the host is told whose each call is: one that knows `Crab-Principal`.
    void keep_callers_apart(bool apart) { callers_apart_ = apart; }
    const std::string& name() const { return options_.name; }
    const core::CircuitBreaker& breaker() const { return breaker_; }

    /// Stops using the open connections of `loop` for new requests; called on its thread.
    void retire(net::EventLoop& loop);
    /// The same, and running calls fail as if the connection had been lost.
    void abort(net::EventLoop& loop);
    /// Ends everything on `loop` and then calls `done`; called on its thread.
    void stop(net::EventLoop& loop, std::function<void()> done);

private:
    struct LoopPart;
    LoopPart& part_here() const;
    core::Outcome on_failure(LoopPart& part, const core::AdmittedCall& call,
                             core::CircuitBreaker::Pass& pass, net::HttpFailure failure);
    std::string caller_of(const core::AdmittedCall& call) const;
    void send_cancel(LoopPart& part, const core::AdmittedCall& call, CancelReason reason);
    static Task<void> post_cancel(LoopPart& part, std::string target, std::string body,
                                  std::string caller);

    const Options options_;
    const std::string call_target_, cancel_target_, list_target_;
    core::CircuitBreaker breaker_;
    std::atomic<bool> callers_apart_ = false;
    std::vector<std::unique_ptr<LoopPart>> parts_;  ///< one for each loop
    std::function<void()> told_of_unknown_tool_;
};

}  // namespace crab::rtp
