#pragma once

#include "base/published.hpp"
#include "base/task/blocking_pool.hpp"
#include "core/pipeline/away_calls.hpp"
#include "gateway/context/gateway_context.hpp"

#include <memory>

namespace crab::gateway {

/// The current rules of calls: policy, rates and hooks, and calls that wait for disconnected
/// devices. A reload publishes new rules; running calls keep theirs.
class CurrentRules final : public Component {
public:
    explicit CurrentRules(const GatewayContext& context) : context_(context) {}

    std::string_view name() const override { return "rules of calls"; }
    std::span<const ConfigKey> keys() const override;
    /// Errors: kInvalidArgs naming the entry.
    Result<void> start() override;
    Result<Change> prepare(const config::GatewayConfig& next) override;
    void add_metrics(core::MetricsPage& page) override;
    /// No call waits for a device any more.
    void drain() override { away_->stop(); }

    Published<core::CallRules>& rules() { return *rules_; }
    core::AwayCalls& away() { return *away_; }

private:
    const GatewayContext& context_;
    std::unique_ptr<BlockingPool> hook_pool_;  ///< for programs, which may hang
    std::unique_ptr<Published<core::CallRules>> rules_;
    std::unique_ptr<core::AwayCalls> away_;
};

}  // namespace crab::gateway
