#pragma once

#include "base/result.hpp"

#include "crab/device.hpp"

#include <string>

namespace crab::sdk {

/// Offers a command as a tool: its arguments come as JSON on standard input and in CRAB_ARGS, what it prints is the result (a
/// JSON object as it is, anything else as text without the last line end). A failing command is `TOOL_FAILED` with the end of
/// its standard error. Errors: kInvalidArgs for a bad name or command line.
Result<void> add_command_tool(Device& device, const std::string& name, const std::string& command);

}  // namespace crab::sdk
