#pragma once

#include "core/call/tool.hpp"
#include "hosts/command/argv_template.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace crab::command {

/// The standard input of the command.
enum class Input : std::uint8_t { kNone, kArguments, kArgument };
/// How output is streamed while the command runs.
enum class Streams : std::uint8_t { kNone, kLines, kBytes };
/// The handling of standard error.
enum class Errors : std::uint8_t { kLog, kMerge, kDiscard };

/// An environment variable of a command.
struct Variable {
    enum class Kind : std::uint8_t { kText, kSecret, kArgument };
    std::string name;
    Kind kind = Kind::kText;
    /// The text, or the name of the secret or argument; an absent argument sets no variable
    std::string value;
};

/// A tool that runs a program. Source: docs/protocols/sw4rm.md, section 11.
struct CommandTool {
    core::ToolSpec spec;
    core::PolicyLimits limits;
    ArgvTemplate argv;
    Input input = Input::kNone;
    std::string input_argument;                    ///< for Input::kArgument
    std::vector<Variable> environment;
    std::vector<std::string> elevated_paths;       ///< writable from ELEVATED on; absolute
    std::string content_type = "text/plain";
    Streams streams = Streams::kNone;
    Errors errors = Errors::kLog;
    std::size_t max_output_bytes = std::size_t{64} << 20;
    std::uint64_t memory_bytes = std::uint64_t{512} << 20;
    std::uint32_t processes = 256;
    std::vector<int> ok_exit{0}, retryable_exit{75};
    std::vector<std::string> path_arguments;       ///< of the format `worktree-path`
    std::size_t queue = 16;  ///< length of the queue behind max_concurrency
};

/// Reads one item of `providers[].tools`, whose keys and types the configuration's schema has
/// checked. Errors: kInvalidArgs naming the tool and the problem.
Result<CommandTool> read_command_tool(const json::Value& item);

/// `4096`, `64KiB`, `512MiB`, `2GiB`; nothing for other text.
std::optional<std::uint64_t> parse_size(std::string_view text);

}  // namespace crab::command
