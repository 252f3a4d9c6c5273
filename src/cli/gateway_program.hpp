#pragma once

#include "config/startup.hpp"

namespace crab::cli {

/// The gateway's entry points, injected by main(), so that commands do not depend on the gateway's
/// code.
struct GatewayProgram {
    /// Runs it until SIGINT or SIGTERM; SIGHUP reloads the configuration. Returns a process exit
    /// code (exit_codes.hpp).
    int (*run)(const config::Startup& startup);
    /// Checks whether it could start and work with this configuration; opens what it would open,
    /// starts and changes nothing. Blocks.
    config::Findings (*check)(const config::Startup& startup);
};

}  // namespace crab::cli
