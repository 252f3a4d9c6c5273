#pragma once

#include "sdk/call_state.hpp"
#include "sdk/device_tools.hpp"

#include <memory>
#include <string>

namespace crab::sdk {

struct Handled {
    ToolAnswer answer;
    std::string complaint;  ///< for the device's own log; empty when all went well
};

/// Runs a tool's handler on this thread. What it throws, and JSON that is none, becomes `INTERNAL`: what exactly went wrong
/// is the device's business, not the caller's.
Handled run_handler(const DeviceTool& tool, std::shared_ptr<CallState> call);

}  // namespace crab::sdk
