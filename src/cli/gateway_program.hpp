#pragma once

#include "config/startup.hpp"

namespace crab::cli {

/// The gateway as the command line knows it. main() hands it over, so that commands include nothing
/// of the gateway's code.
struct GatewayProgram {
    /// Runs it until SIGINT or SIGTERM; SIGHUP reloads the configuration. Returns a process exit
    /// code (exit_codes.hpp).
    int (*run)(const config::Startup& startup);
    /// Whether it could start with this, and do what it is asked for; opens what it opens, starts
    /// and changes nothing. Blocks.
    config::Findings (*check)(const config::Startup& startup);
};

}  // namespace crab::cli
