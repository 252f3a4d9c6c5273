#pragma once

#include <cstddef>
#include <string>

namespace crab::admin {

/// How a source of tools does that is no device: a tool host, a provider, an MCP server.
struct SourceState {
    std::string source;  ///< such as `peer/memory`, as policies and tools name it
    bool answers = false;  ///< its last list arrived, and calls reach it
    std::size_t tools = 0;
    std::string problem;  ///< why it does not answer; may be empty
};

}  // namespace crab::admin
