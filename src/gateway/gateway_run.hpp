#pragma once

#include "config/startup.hpp"

namespace crab::gateway {

/// Checks whether a gateway could start and work with this configuration: compiles policy, rates
/// and hooks, reads the models' keys, opens the worktrees and runs look_around(); starts and
/// changes nothing. Blocks.
config::Findings check_gateway(const config::Startup& startup);

/// Runs the gateway until SIGINT or SIGTERM; SIGHUP reloads the configuration. Returns the process
/// exit code: 0, or 1 when it could not start, with the reason on standard error.
int run_gateway(const config::Startup& startup);

}  // namespace crab::gateway
