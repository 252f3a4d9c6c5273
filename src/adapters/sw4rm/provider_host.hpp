#pragma once

#include "adapters/sw4rm/tool_service_client.hpp"
#include "core/call/circuit_breaker.hpp"
#include "core/call/tool_host.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace crab::sw4rm {

/// Runs the tools of one remote provider by its ToolService, over one connection for each event
/// loop. It never retries: its errors tell the pipeline whether a retry is safe. Source:
/// docs/protocols/sw4rm.md, sections 4 and 12.
class ProviderHost final : public core::ToolHost {
public:
    /// How to treat network and privilege labels, which the gateway cannot enforce at a remote
    /// provider.
    enum class Labels : std::uint8_t {
        kEnforce,  ///< a call that states one is refused
        kAdvisory,  ///< the call runs without it, and its result says so
        kTrust,  ///< the provider enforces it: the effective label is sent
    };
    struct Options {
        std::string id;  ///< in the configuration; for messages and logs
        std::string provider_id;  ///< sent in calls; may be empty
        Labels labels = Labels::kEnforce;
        ToolServiceClient::Options client;
    };
    /// `loops` are all loops on which calls may run; they must outlive this.
    ProviderHost(Options options, const std::vector<net::EventLoop*>& loops);
    ~ProviderHost() override;

    /// Errors: kUnavailable, not started; kOutcomeUnknown, sent and not answered; kTimeout,
    /// kWallTimeout, kCancelled, kPolicyUnenforceable; kInternal for an invalid response; else the
    /// provider's own error.
    Task<core::Outcome> run(core::AdmittedCall call, core::FrameSink& sink) override;
    /// DescribeTools from this thread's loop: the raw response, nothing when the provider has no
    /// such service. The circuit breaker counts it but does not block it.
    Task<Result<std::optional<std::string>>> fetch_tools(Deadline deadline);

    /// `told` is called, on any loop, when the provider does not know a tool that it has listed.
    /// Set before calls run.
    void on_unknown_tool(std::function<void()> told) { told_of_unknown_tool_ = std::move(told); }
    const std::string& id() const { return options_.id; }
    const core::CircuitBreaker& breaker() const { return breaker_; }

    /// Ends everything on `loop` and then calls `done`; called on its thread.
    void stop(net::EventLoop& loop, std::function<void()> done);

private:
    struct LoopPart;
    LoopPart& part_here() const;
    Result<ExecutionPolicy> policy_of(const core::AdmittedCall& call, SteadyTime now,
                                      Deadline until, std::vector<std::string>& unenforced) const;
    core::Outcome outcome_of(ToolServiceClient::Ended ended, const core::AdmittedCall& call,
                             core::CircuitBreaker::Pass& pass, bool wall_ended);

    const Options options_;
    core::CircuitBreaker breaker_;
    std::vector<std::unique_ptr<LoopPart>> parts_;  ///< one for each loop
    std::function<void()> told_of_unknown_tool_;
};

}  // namespace crab::sw4rm
