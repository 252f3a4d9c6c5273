#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace crab::cli {

struct SavedFile {
    std::filesystem::path name;   ///< below the folder
    std::uint64_t bytes = 0;      ///< of the copy
};

/// Copies a gateway's state folder to `to`, which must not exist: each database as a consistent
/// snapshot that is checked afterwards, everything else as files, readable by the owner only. Does
/// not change `state_dir`, which a running gateway may use. The copy is named `<to>.partial` until
/// it is complete. Blocks. Errors: kNotFound (no such folder), kConflict (`to` is there),
/// kInvalidArgs (one folder within the other), kUnavailable, kInternal (a damaged database), each
/// with the file.
Result<std::vector<SavedFile>> back_up_state(const std::filesystem::path& state_dir,
                                             const std::filesystem::path& to);

}  // namespace crab::cli
