#pragma once

#include "config/mcp_options.hpp"
#include "config/read_members.hpp"

namespace crab::config {

/// The section `mcp:` of a checked document.
void read_mcp(const Members& mcp, McpOptions& out);
/// One entry of `mcp.servers`.
void read_mcp_server(const Members& server, McpServerOptions& out);

}  // namespace crab::config
