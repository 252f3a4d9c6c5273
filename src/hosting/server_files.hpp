#pragma once

#include "base/result.hpp"
#include "config/gateway_config.hpp"
#include "config/mcp_options.hpp"

#include <map>
#include <string>
#include <string_view>

namespace crab::hosting {

/// Whether neither commands in the configured worktrees nor the sandboxed programs of the other
/// `servers` can replace what the server `source` is made of (its program, the files its words
/// name, its folder, the certificates it is believed by), read its key, or turn what its sandbox
/// shows into something else; and whether its sandbox can do that to none of them. Blocks. Errors:
/// kInvalidArgs that names both.
Result<void> check_apart_from_others(const config::GatewayConfig& config,
                                     const config::McpServers& servers, std::string_view source,
                                     const config::McpServerOptions& server);

/// The same of all of them that are enabled, where each is looked at beside what the sandboxes of
/// the others show, once. By their names, those of which others can do so. Blocks.
std::map<std::string, Error> find_not_apart(const config::GatewayConfig& config,
                                            const config::McpServers& servers);

}  // namespace crab::hosting
