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

/// Runs the handler of the call's tool on this thread. What it throws, and JSON that is none,
/// becomes `INTERNAL`: what exactly went wrong is the business of the device or host, not the
/// caller's.
Handled run_handler(const ToolHandler& handler, std::shared_ptr<CallState> call);

/// An answer as it may leave: JSON that is none, and a file that cannot be read, become `INTERNAL`.
Handled checked(std::string_view tool, ToolAnswer answer);

}  // namespace crab::sdk
