#pragma once

#include "sdk/call_state.hpp"

#include "crab/tool_handler.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace crab::sdk {

struct Handled {
    ToolAnswer answer;
    std::string complaint;  ///< for the log of the device or host; empty when all went well
};

/// Runs the handler of the call's tool on this thread. What it throws, and invalid JSON, becomes
/// `INTERNAL`: details are logged by the device or host and not sent to the caller.
Handled run_handler(const ToolHandler& handler, std::shared_ptr<CallState> call);

/// Checks an answer before it is sent: invalid JSON and unreadable files become `INTERNAL`.
Handled checked(std::string_view tool, ToolAnswer answer);

}  // namespace crab::sdk
