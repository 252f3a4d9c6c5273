#pragma once

#include "config/gateway_config.hpp"
#include "config/paths.hpp"

#include <filesystem>

namespace crab::app {

/// What `crab gateway run` was asked to do. The configuration is loaded and valid.
struct GatewayRunOptions {
    config::GatewayConfig config;
    std::filesystem::path config_file;  ///< --config; empty: the first candidate of `paths`. For config::load_first() on SIGHUP
    config::Paths paths;                ///< state, runtime and socket: paths.state_dir_of(config) and so on
};

/// Whether a gateway could start with this: compiles the policy's patterns, rates and hooks, reads the models' keys, opens the worktrees,
/// starts nothing. `paths` are those of the gateway.
/// Errors: kInvalidArgs naming the entry.
Result<void> check_rules(const config::GatewayConfig& config, const config::Paths& paths);

/// Runs the gateway until SIGINT or SIGTERM; SIGHUP reloads the configuration. Returns a process exit code (exit_codes.hpp).
int run_gateway(const GatewayRunOptions& options);

}  // namespace crab::app
