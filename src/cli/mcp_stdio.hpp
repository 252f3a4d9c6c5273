#pragma once

#include "cli/gateway_endpoint.hpp"

#include <memory>
#include <string>

namespace crab::cli {

/// Copies the messages of an MCP client between its stdio and the gateway: each line is one POST to
/// `/mcp` of the admin socket, and each message of an answer one line, whether that is JSON or a
/// stream of events. Many at once; either era. Source: docs/protocols/mcp.md, section 2.6.
class McpStdio {
public:
    /// `scope`: of `/mcp/<scope>`; may be empty. Lines are written to the descriptor `out`.
    McpStdio(GatewayEndpoint place, const std::string& scope, int out);
    ~McpStdio();

    /// Reads lines from the descriptor `in` up to its end; then waits a little for answers. Blocks.
    void run(int in);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace crab::cli
