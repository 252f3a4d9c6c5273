#pragma once

#include "adapters/clawseed/hub.hpp"
#include "base/task/blocking_pool.hpp"
#include "config/gateway_config.hpp"
#include "core/pipeline/pipeline.hpp"

#include <memory>

namespace crab::gateway {

/// The configuration's policy, rates, hooks and limits as core types. Rates that are those of
/// `before` go on counting from there. Errors: kInvalidArgs naming the entry that cannot be used.
Result<std::shared_ptr<const core::CallRules>> make_call_rules(
    const config::GatewayConfig& config, BlockingPool& pool,
    const core::CallRules* before = nullptr);

/// What the ClawSeed adapter needs of the configuration.
std::shared_ptr<const clawseed::Options> make_clawseed_options(const config::GatewayConfig& config);

}  // namespace crab::gateway
