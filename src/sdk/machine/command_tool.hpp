#pragma once

#include "base/result.hpp"

#include "crab/device.hpp"

#include <string>

namespace crab::sdk {

struct CommandTool {
    std::string name;
    std::string command;  ///< split into words as a shell would, nothing is expanded
    std::string schema = R"({"type":"object"})";  ///< of its arguments, JSON
    std::string description{};  ///< empty: what it runs
};

/// Offers a command as a tool: its arguments come as JSON on standard input and in CRAB_ARGS, what
/// it prints is the result (a JSON object as it is, anything else as text without the last line
/// end). A failing command is `TOOL_FAILED` with the end of its standard error. Callers that follow
/// the call get each line as progress when it is printed. Errors: kInvalidArgs for a bad name,
/// command line or schema.
Result<void> add_command_tool(Device& device, const CommandTool& tool);
inline Result<void> add_command_tool(Device& device, const std::string& name,
                                     const std::string& command) {
    return add_command_tool(device, CommandTool{.name = name, .command = command});
}

}  // namespace crab::sdk
