#pragma once

#include "cli/command_tree.hpp"

#include <string>

namespace crab::cli {

/// Completion scripts for the tree. Names of what is there come from `crab completion-names` at the
/// moment of completion.
std::string bash_completion(const CommandNode& root);
std::string zsh_completion(const CommandNode& root);
std::string fish_completion(const CommandNode& root);

}  // namespace crab::cli
