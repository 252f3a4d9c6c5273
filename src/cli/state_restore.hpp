#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <filesystem>

namespace crab::cli {

struct Restored {
    std::size_t databases = 0;
    std::filesystem::path before;  ///< the state that was there; empty: there was none
};

/// Puts a copy of a backup in the place of a state folder, which need not exist. The copy is made
/// beside it, as `<state_dir>.restoring`, and every store in it is opened and brought to this
/// program's schema; then the two change places in one step. What was there stays as
/// `<state_dir>.before-<time>`. Does not change the backup. Blocks. Errors: kUnavailable (a gateway
/// uses the folder; disk), kNotFound, kInvalidArgs (no backup), kInternal (damaged, or of a newer
/// program): then the state is as it was.
Result<Restored> restore_state(const std::filesystem::path& backup,
                               const std::filesystem::path& state_dir);

}  // namespace crab::cli
