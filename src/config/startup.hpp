#pragma once

#include "config/gateway_config.hpp"
#include "config/paths.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace crab::config {

/// A loaded and valid configuration to start a gateway with, and its origin.
struct Startup {
    GatewayConfig config;
    /// --config; empty: the first candidate of `paths`. For load_first() on SIGHUP
    std::filesystem::path config_file;
    Paths paths;  ///< state, runtime and socket: paths.state_dir_of(config) and so on
};

/// Problems of a valid configuration that show only when the gateway's files and addresses are
/// opened.
struct Findings {
    /// The gateway would not start, or a rule could never match
    std::vector<std::string> problems;
    /// It would start, but something that is configured would not work
    std::vector<std::string> warnings;
    /// The keys that the file sets: those that a reload applies, and those that need a restart
    std::vector<std::string> on_reload, on_restart;
};

}  // namespace crab::config
