#pragma once

#include "adapters/clawseed/hub.hpp"
#include "base/task/blocking_pool.hpp"
#include "config/gateway_config.hpp"
#include "core/pipeline/pipeline.hpp"

#include <memory>

namespace crab::gateway {

/// The configuration's policy, rates, hooks and limits as core types. Rates that are unchanged from
/// `before` keep their counts. Errors: kInvalidArgs naming the invalid entry.
Result<std::shared_ptr<const core::CallRules>> make_call_rules(
    const config::GatewayConfig& config, BlockingPool& pool,
    const core::CallRules* before = nullptr);

/// The options of the ClawSeed adapter.
std::shared_ptr<const clawseed::Options> make_clawseed_options(const config::GatewayConfig& config);

}  // namespace crab::gateway
