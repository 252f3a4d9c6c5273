#pragma once

#include "adapters/mcp/client/upstream_session.hpp"
#include "adapters/mcp/upstreams/tool_reading.hpp"
#include "adapters/mcp/wire/rpc_error.hpp"
#include "core/call/inquirer.hpp"
#include "core/call/tool_result.hpp"

#include <functional>
#include <string>
#include <string_view>

/// An upstream's replies as outcomes of calls. Source: docs/protocols/mcp.md, sections 4.2, 4.3, 5
/// "Errors", 7.1.
namespace crab::mcp {

/// What an upstream gave for a call, and in which era.
struct CallReply {
    UpstreamReply reply;
    Era era = Era::kLegacy;
};

struct ReplyContext {
    std::string_view source;  ///< for messages and the log
    std::string_view method;
    const UpstreamTool* tool = nullptr;  ///< of `tools/call`
    core::Inquirer::Answers answers;  ///< what the caller's client can answer
    /// Told of a result that breaks the tool's output schema and passes; empty: nobody is.
    std::function<void(std::string_view why)> on_off_schema{};
};

/// Results that say `isError` are errors with the object in `details`; other errors of the upstream
/// have their JSON-RPC error there, as `mcp/error`, if a client of MCP may see it.
core::Outcome outcome_of(CallReply reply, const ReplyContext& context);

/// The member of an error's details that holds an upstream's own JSON-RPC error.
inline constexpr std::string_view kPassedError = "mcp/error";

}  // namespace crab::mcp
