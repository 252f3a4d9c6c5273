#pragma once

#include "config/gateway_config.hpp"
#include "config/paths.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace crab::config {

/// What a gateway is started with: a configuration that is loaded and valid by itself, and where it
/// came from.
struct Startup {
    GatewayConfig config;
    /// --config; empty: the first candidate of `paths`. For load_first() on SIGHUP
    std::filesystem::path config_file;
    Paths paths;  ///< state, runtime and socket: paths.state_dir_of(config) and so on
};

/// What is wrong around a configuration that is valid by itself, found by opening what the gateway
/// opens.
struct Findings {
    std::vector<std::string> problems;  ///< the gateway would not start, or a rule could never hold
    /// It starts, and something that was asked for does not work
    std::vector<std::string> warnings;
    /// The keys that the file sets: those a reload takes over when they change, and those that wait
    /// for a restart
    std::vector<std::string> on_reload, on_restart;
};

}  // namespace crab::config
