#pragma once

#include "config/mcp_options.hpp"
#include "config/rules.hpp"

namespace crab::config {

/// The rules of `mcp:`. Source: docs/protocols/mcp.md, sections 6.2, 6.4 and 7.6.
void check_mcp(const McpOptions& mcp, Rules& rules);

}  // namespace crab::config
