#pragma once

#include "adapters/sw4rm/tool_service_client.hpp"
#include "core/call/host_breaker.hpp"
#include "core/call/tool_host.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace crab::sw4rm {

/// Runs the tools of one remote provider by its ToolService, over one connection for each event
/// loop. It never repeats a call: what it returns tells the pipeline whether that is safe. Source:
/// docs/protocols/sw4rm.md, sections 4 and 12.
class ProviderHost final : public core::ToolHost {
public:
    /// What becomes of a network or privilege label, which nobody here can keep at the provider.
    enum class Labels : std::uint8_t {
        kEnforce,  ///< a stated one is refused
        kAdvisory,  ///< the call runs without it, and says so
        kTrust,  ///< the provider keeps it: the effective one is sent
    };
    struct Options {
        std::string id;  ///< of the provider here; for messages and logs
        std::string provider_id;  ///< that calls name at the provider; may be empty
        Labels labels = Labels::kEnforce;
        ToolServiceClient::Options client;
    };
    /// `loops` are all those on which calls may run, and outlive this.
    ProviderHost(Options options, const std::vector<net::EventLoop*>& loops);
    ~ProviderHost() override;

    /// Errors: kUnavailable, not started; kOutcomeUnknown, sent and not answered; kTimeout,
    /// kWallTimeout, kCancelled, kPolicyUnenforceable; kInternal for an answer that breaks a rule;
    /// else the provider's own error.
    Task<core::Outcome> run(core::AdmittedCall call, core::FrameSink& sink) override;
    /// DescribeTools from this thread's loop: the answer as it came, nothing when the provider has
    /// no such service. It counts for the breaker, and is not held back by it.
    Task<Result<std::optional<std::string>>> fetch_tools(Deadline deadline);

    /// Told, on any loop, when the provider did not know a tool that it had listed. Set before
    /// calls run.
    void on_unknown_tool(std::function<void()> told) { told_of_unknown_tool_ = std::move(told); }
    const std::string& id() const { return options_.id; }
    const core::HostBreaker& breaker() const { return breaker_; }

    /// Ends what is in progress on `loop`, on whose thread it is called, and calls `done` there
    /// when nothing is left.
    void stop(net::EventLoop& loop, std::function<void()> done);

private:
    struct Lane;
    Lane& lane() const;
    Result<ExecutionPolicy> policy_of(const core::AdmittedCall& call, SteadyTime now,
                                      Deadline until, std::vector<std::string>& unenforced) const;
    core::Outcome outcome_of(ToolServiceClient::Ended ended, const core::AdmittedCall& call,
                             Lane& here, bool wall_ended);

    const Options options_;
    core::HostBreaker breaker_;
    std::vector<std::unique_ptr<Lane>> lanes_;  ///< one for each loop
    std::function<void()> told_of_unknown_tool_;
};

}  // namespace crab::sw4rm
