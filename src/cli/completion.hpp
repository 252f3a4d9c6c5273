#pragma once

#include "cli/command_tree.hpp"

#include <string>

namespace crab::cli {

/// Completion scripts for the tree. Tool names come from `crab tools list -o names` at the moment
/// of completion.
std::string bash_completion(const CommandNode& root);
std::string zsh_completion(const CommandNode& root);
std::string fish_completion(const CommandNode& root);

}  // namespace crab::cli
