#pragma once

#include "core/pipeline/pipeline.hpp"
#include "gateway/call_approvals.hpp"
#include "gateway/call_ledger.hpp"
#include "gateway/credentials.hpp"
#include "gateway/event_log.hpp"
#include "gateway/event_loops.hpp"
#include "gateway/rules_in_force.hpp"
#include "trust/credential_cache.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::gateway {

/// The path of calls: on every event loop a pipeline and a credential cache.
class CallPath final : public Component {
public:
    struct Uses {
        const GatewayContext& context;
        EventLoops& loops;
        RulesInForce& rules;
        CallLedger& ledger;
        AuditTrail& audit;
        EventLog& events;
        CallApprovals& approvals;
        Credentials& credentials;
    };
    /// The part of one event loop.
    struct Lane {
        Lane(net::EventLoop& event_loop, const core::CallServices& services, trust::Tokens& tokens)
            : loop(event_loop),
              credentials(tokens, services.clock),
              pipeline(services, event_loop.executor(), event_loop.timers(), event_loop.ids()) {}
        net::EventLoop& loop;
        trust::CredentialCache credentials;
        core::Pipeline pipeline;
    };
    explicit CallPath(const Uses& uses) : uses_(uses) {}

    std::string_view name() const override { return "call path"; }
    Result<void> start() override;
    void add_metrics(core::MetricsPage& page) override;

    /// By event loop, in order.
    const std::vector<std::unique_ptr<Lane>>& lanes() const { return lanes_; }
    Lane& first() { return *lanes_.front(); }
    /// Calls that wait for devices.
    core::AwayCalls& away() { return uses_.rules.away(); }
    /// Thread-safe.
    std::vector<core::RunningCallInfo> running() const;
    /// Thread-safe. Returns how many calls it cancelled. Callers reach only their own calls in that
    /// tenant, operators any.
    std::size_t cancel(const core::Principal& asker, std::string_view tenant,
                       std::string_view call_id);
    bool has_finished(const core::Principal& asker, std::string_view tenant,
                      std::string_view call_id) const;
    std::string home_tenant(const core::Principal& principal) const;
    /// Waits until no call of `front` (empty: any) runs, at most until `deadline`.
    void wait_for_end(Deadline deadline, std::string_view front) const;

private:
    const Uses uses_;
    std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace crab::gateway
