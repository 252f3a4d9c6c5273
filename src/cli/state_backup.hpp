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

/// Copies the folder of a gateway's state to `to`, which must not be there yet: databases as they
/// are at one moment each and checked afterwards, all else as files, only for their owner. Changes
/// nothing in `state_dir`; a gateway may use it meanwhile. `to` appears only as a whole; until then
/// it is called `<to>.partial`. Blocks. Errors: kNotFound (no such folder), kConflict (`to` is
/// there), kInvalidArgs (one folder within the other), kUnavailable, kInternal (a damaged
/// database), each with the file.
Result<std::vector<SavedFile>> back_up_state(const std::filesystem::path& state_dir,
                                             const std::filesystem::path& to);

}  // namespace crab::cli
