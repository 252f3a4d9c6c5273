#pragma once

#include "config/startup.hpp"

namespace crab::gateway {

/// Whether a gateway could start with this, and do what it is asked for: compiles the policy's
/// patterns, rates and hooks, reads the models' keys, opens the worktrees and what look_around()
/// opens; starts and changes nothing. Blocks.
config::Findings check_gateway(const config::Startup& startup);

/// Runs the gateway until SIGINT or SIGTERM; SIGHUP reloads the configuration. Returns the process
/// exit code: 0, or 1 when it could not start, with the reason on standard error.
int run_gateway(const config::Startup& startup);

}  // namespace crab::gateway
