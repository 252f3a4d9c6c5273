#pragma once

#include "hosts/command/command_tool.hpp"

#include <vector>

namespace crab::command {

/// The predefined tools for worktrees: read_file, list_dir, find_files, search_text, git_status,
/// git_diff, git_log, all of them MINIMAL, without network and without effects; with `with_run`
/// also run, which passes a shell line to `sh` and may write. Tools whose program is not installed
/// are left out. Each works in the caller's worktree.
std::vector<CommandTool> worktree_tools(bool with_run);

}  // namespace crab::command
