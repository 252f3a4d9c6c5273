#pragma once

#include "config/startup.hpp"

#include <string>
#include <string_view>

namespace crab::gateway {

/// TLS files, hook programs, sockets, folders, names in rules; worktrees and the sandbox are those
/// of hosted_commands.hpp. Starts and changes nothing; blocks.
config::Findings look_around(const config::GatewayConfig& config, const config::Paths& paths,
                             unsigned uid);
/// Why no principal is ever called so, with what was probably meant; empty when one may be.
/// `pattern` is a glob.
std::string why_nobody(std::string_view pattern);

}  // namespace crab::gateway
