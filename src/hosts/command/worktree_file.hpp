#pragma once

#include "base/result.hpp"
#include "hosts/command/worktrees.hpp"

#include <filesystem>

namespace crab::command {

/// The bindings of worktrees as a file of JSON, `{"caller/ci":"garden/main"}`; none when it does not exist.
/// Errors: kInternal when it holds something else, kUnavailable when it cannot be read.
Result<Worktrees::Bindings> load_bindings(const std::filesystem::path& file);

/// Replaces the file, all or nothing, and syncs it. Blocks. Errors: kUnavailable.
Result<void> store_bindings(const std::filesystem::path& file, const Worktrees::Bindings& bindings);

}  // namespace crab::command
