#pragma once

#include "adapters/mcp/upstreams/upstream_calls.hpp"
#include "core/call/frame_sink.hpp"
#include "core/call/inquirer.hpp"

namespace crab::mcp {

/// Sends a call from the event loop of its front to the loop of the upstream and waits for the
/// reply. Progress, log and questions go the other way: `sink` and `inquirer` (null: nobody) are
/// used on the front's loop only.
Task<Result<CallReply>> relay_call(UpstreamCalls& calls, UpstreamCall call, core::FrameSink& sink,
                                   core::Inquirer* inquirer);

}  // namespace crab::mcp
