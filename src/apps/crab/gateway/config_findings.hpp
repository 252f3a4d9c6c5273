#pragma once

#include "config/gateway_config.hpp"
#include "config/paths.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace crab::app {

/// What is wrong around a configuration that is valid by itself, found by opening what `crab gateway run` opens.
struct ConfigFindings {
    std::vector<std::string> problems;   ///< the gateway would not start, or a rule could never hold
    std::vector<std::string> warnings;   ///< it starts, and something that was asked for does not work
};

/// TLS files, hook programs, sockets, folders, names in rules; worktrees and the sandbox are those of hosted_commands.hpp. Starts and changes nothing; blocks.
ConfigFindings look_around(const config::GatewayConfig& config, const config::Paths& paths, unsigned uid);
/// Why no principal is ever called so, with what was probably meant; empty when one may be. `pattern` is a glob.
std::string why_nobody(std::string_view pattern);

}  // namespace crab::app
