#pragma once

#include "cli/command.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

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
/// suggest the closest name. `notes`: what to tell of spellings that will go.
std::variant<std::unique_ptr<Command>, ParserOutput> parse_command_line(
    std::span<const char* const> arguments, std::vector<std::string>* notes = nullptr);

/// The help of the command with that path (`{"gateway", "run"}`), the program's own for an empty
/// one.
ParserOutput help_of(const std::vector<std::string>& path);

}  // namespace crab::cli
