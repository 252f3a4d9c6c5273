#pragma once

#include "cli/commands.hpp"

#include <span>
#include <string>
#include <variant>

namespace crab::cli {

/// Output and exit code of a command line that runs no command.
struct ParserOutput {
    std::string text;
    int exit_code = 0;
    /// Requested help, or help for an empty command line: printed to standard output whatever the
    /// code
    bool is_help = false;
};

/// Reads the arguments (without the program's name). Errors for unknown commands and options
/// suggest the closest name.
std::variant<Command, ParserOutput> parse_command_line(std::span<const char* const> arguments);

/// The help of the command with that path (`{"gateway", "run"}`), the program's own for an empty
/// one.
ParserOutput help_of(const std::vector<std::string>& path);

}  // namespace crab::cli
