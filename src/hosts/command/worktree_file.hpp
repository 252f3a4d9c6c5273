#pragma once

#include "base/result.hpp"
#include "hosts/command/worktrees.hpp"

#include <filesystem>

namespace crab::command {

/// The bindings of worktrees as a file of JSON,
/// `{"principals":{"caller/ci":"garden/main"},"agents":{}}`; none when it does not exist. Also
/// reads the older form `{"caller/ci":"garden/main"}`. Errors: kInternal for other content,
/// kUnavailable when it cannot be read.
Result<Worktrees::Bindings> load_bindings(const std::filesystem::path& file);

/// Replaces the file atomically and durably. Blocks. Errors: kUnavailable.
Result<void> store_bindings(const std::filesystem::path& file, const Worktrees::Bindings& bindings);

}  // namespace crab::command
