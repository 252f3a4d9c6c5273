#include "sdk/machine/command_tool.hpp"

#include "base/cut_text.hpp"
#include "json/value.hpp"
#include "sdk/machine/command_process.hpp"
#include "sdk/machine/split_command.hpp"

#include <stdexcept>

#include <fmt/format.h>

namespace crab::sdk {
namespace {

constexpr std::size_t kMostOfALine = 1024;

std::string without_line_end(std::string text) {
    if (text.ends_with('\n')) text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
    return text;
}

ToolAnswer answer_of(CommandEnd end) {
    if (end.exit_status != 0) {
        const std::string how = end.signal != 0
                                    ? fmt::format("was ended by signal {}", end.signal)
                                    : fmt::format("ended with status {}", end.exit_status);
        const std::string errors = without_line_end(std::move(end.last_errors));
        return ToolAnswer::error("TOOL_FAILED",
                                 "the command " + how + (errors.empty() ? "" : ": " + errors));
    }
    if (const std::size_t first = end.output.find_first_not_of(" \t\r\n");
        first != std::string::npos && end.output[first] == '{') {
        if (json::Value::parse(end.output, {.max_depth = 63}))
            return ToolAnswer::json(std::move(end.output));
    }
    return ToolAnswer::text(without_line_end(std::move(end.output)));
}

ToolAnswer serve(const std::vector<std::string>& words, const ToolRequest& request) {
    CommandRun run{
        .words = words,
        .input = request.args(),
        .environment = {{"CRAB_ARGS", request.args()},
                        {"CRAB_TOOL", request.tool()},
                        {"CRAB_CALL_ID", request.call_id()}},
        .deadline = request.deadline(),
        .on_cancel =
            [&request](std::function<void()> callback) { request.on_cancel(std::move(callback)); },
        .on_line =
            [&request](std::string_view line) {
                request.progress({.message = std::string(cut_text(line, kMostOfALine))});
            }};
    auto end = run_command(run);
    if (!end)
        return ToolAnswer::error(
            end.error().code == ErrorCode::kOversize ? "TOOL_FAILED" : token_of(end.error().code),
            end.error().message);
    return answer_of(*std::move(end));
}

}  // namespace

Result<void> add_command_tool(Device& device, const CommandTool& tool) {
    auto words = split_command(tool.command);
    if (!words)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("tool {}: {}", tool.name, words.error().message));
    const std::string description =
        tool.description.empty()
            ? fmt::format(
                  "Runs `{}` on this device; the arguments go to it as JSON on standard input",
                  tool.command)
            : tool.description;
    try {
        device.tool(tool.name, description, tool.schema,
                    [words = *std::move(words)](const ToolRequest& request) {
                        return serve(words, request);
                    });
    } catch (const std::invalid_argument& refused) {
        return fail(ErrorCode::kInvalidArgs, refused.what());
    }
    return {};
}

}  // namespace crab::sdk
