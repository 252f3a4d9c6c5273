#pragma once

#include "cli/commands.hpp"

namespace crab::cli {

/// `crab tools cost --front mcp`: reads the list of tools as an MCP client does. Returns the exit
/// code.
int show_mcp_cost(const ToolsCost& options);

}  // namespace crab::cli
