#pragma once

#include "adapters/mcp/wire/revision.hpp"
#include "adapters/mcp/wire/rpc_error.hpp"

#include <expected>
#include <string>
#include <string_view>

namespace crab::mcp {

/// The params of an upstream's `sampling/createMessage` for a client of this revision. Before
/// 2025-11-25 a message has one block of content: an array of one is unwrapped.
/// Errors: -32602 for the upstream, when a message has more blocks than the client knows, or
/// `tools` come without the client's `sampling.tools`. Source: docs/protocols/mcp.md, section 5,
/// "Versions of fields".
std::expected<std::string, RpcError> sampling_params(std::string_view params, Revision client,
                                                     bool client_has_tools);

}  // namespace crab::mcp
