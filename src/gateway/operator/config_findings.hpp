#pragma once

#include "config/startup.hpp"

#include <string>
#include <string_view>

namespace crab::gateway {

/// Checks TLS files, hook programs, sockets, folders and names in rules; for worktrees and the
/// sandbox see hosted_commands.hpp. Starts and changes nothing; blocks.
config::Findings look_around(const config::GatewayConfig& config, const config::Paths& paths,
                             unsigned uid);
/// Why the glob `pattern` can match no principal, with a suggestion; empty if it can.
std::string why_nobody(std::string_view pattern);

}  // namespace crab::gateway
