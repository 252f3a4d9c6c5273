#pragma once

#include "agent/agent.hpp"
#include "agent/http_model_client.hpp"
#include "base/result.hpp"
#include "config/gateway_config.hpp"
#include "core/turn.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace crab::app {

/// What the configuration says about models and turns, ready for use: keys are read, addresses and authorities checked.
struct TurnSetup {
    std::vector<std::shared_ptr<const agent::HttpModel>> models;   ///< as they are configured
    std::shared_ptr<const agent::AgentBook> agents;
};

/// Errors: kInvalidArgs, naming the key of the configuration, for an address that is none, a variable that is not set, a file that
/// cannot be read.
Result<TurnSetup> make_turn_setup(const config::GatewayConfig& config);

/// The runner of one event loop: the agent, or without a model the one that says so.
std::unique_ptr<core::TurnRunner> make_turn_runner(const TurnSetup& setup, agent::Agent::Services services);

/// Metrics of those runners that have any, added up.
void append_turn_metrics(std::string& out, std::span<const core::TurnRunner* const> runners);

}  // namespace crab::app
