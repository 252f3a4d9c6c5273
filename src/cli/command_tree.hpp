#pragma once

#include <string>
#include <vector>

namespace crab::cli {

/// The kind of an option's or positional's value, for completion.
enum class ValueKind : std::uint8_t { kNone, kText, kFile, kDirectory, kLive, kChoice };

struct OptionNode {
    std::string long_name;              ///< without dashes; empty for a positional
    char short_name = 0;
    std::string value;                  ///< placeholder such as `PATH`; empty for a flag
    std::string description;
    ValueKind kind = ValueKind::kNone;
    std::vector<std::string> choices;   ///< for kChoice
    std::string live;                   ///< for kLive: what `crab completion names` takes
    std::string group;                  ///< under which the help has it
    bool required = false;
    bool many = false;                  ///< a positional that takes more than one
};

/// One command with its options, for help, completion scripts and docs/reference/cli.md.
struct CommandNode {
    std::string name;
    std::string description;
    std::string path;  ///< with its parents: `crab gateway run`
    std::string examples;
    std::vector<OptionNode> options;
    std::vector<OptionNode> positionals;
    std::vector<CommandNode> commands;
};

/// The whole tree, `crab` at its root. Hidden commands and options are left out.
CommandNode command_tree();

}  // namespace crab::cli
