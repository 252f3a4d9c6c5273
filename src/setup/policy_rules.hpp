#pragma once

#include "config/gateway_config.hpp"
#include "core/policy/policy.hpp"

#include <memory>

namespace crab::setup {

/// The configuration's `policy` and `peers` as core types. Errors: kInvalidArgs naming the entry
/// that cannot be used.
Result<std::shared_ptr<const core::Policy>> make_policy(const config::GatewayConfig& config);

}  // namespace crab::setup
