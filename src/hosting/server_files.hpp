#pragma once

#include "base/result.hpp"
#include "config/gateway_config.hpp"
#include "config/mcp_options.hpp"

namespace crab::hosting {

/// Whether commands in the configured worktrees can neither replace what a server of `mcp.servers`
/// is made of (its program, the files its words name, its folder, the certificates it is believed
/// by), nor read its key, nor turn what its sandbox shows into something else; and whether its
/// sandbox can do that to no worktree. Blocks. Errors: kInvalidArgs that names both.
Result<void> check_apart_from_worktrees(const config::GatewayConfig& config,
                                        const config::McpServerOptions& server);

}  // namespace crab::hosting
