#pragma once

#include "cli/commands.hpp"

#include <span>
#include <string>
#include <variant>

namespace crab::cli {

/// There is nothing to run: what to print and how to end.
struct Printed {
    std::string text;
    int exit_code = 0;
    /// What was asked for, or what somebody who asks for nothing needs: to standard output whatever
    /// the code
    bool is_help = false;
};

/// Reads the arguments (without the program's name). Unknown commands and options come with the
/// name that was meant.
std::variant<Command, Printed> parse_command_line(std::span<const char* const> arguments);

/// The help of the command with that path (`{"gateway", "run"}`), the program's own for an empty
/// one.
Printed help_of(const std::vector<std::string>& path);

}  // namespace crab::cli
