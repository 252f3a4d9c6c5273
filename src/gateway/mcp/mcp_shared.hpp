#pragma once

#include "adapters/mcp/wire/catalogs.hpp"

namespace crab::gateway {

/// What the gateway as an MCP server and the gateway as a client of MCP servers share.
struct McpShared {
    mcp::Catalogs catalogs;
    mcp::ResourceWatches watches;
};

}  // namespace crab::gateway
