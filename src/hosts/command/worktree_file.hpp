#pragma once

#include "base/result.hpp"
#include "hosts/command/worktrees.hpp"

#include <filesystem>

namespace crab::command {

/// The bindings of worktrees as a file of JSON,
/// `{"principals":{"caller/ci":"garden/main"},"agents":{}}`; none when it does not exist. A file of
/// before, `{"caller/ci":"garden/main"}`, is read as well.
/// Errors: kInternal when it holds something else, kUnavailable when it cannot be read.
Result<Worktrees::Bindings> load_bindings(const std::filesystem::path& file);

/// Replaces the file, all or nothing, and syncs it. Blocks. Errors: kUnavailable.
Result<void> store_bindings(const std::filesystem::path& file, const Worktrees::Bindings& bindings);

}  // namespace crab::command
