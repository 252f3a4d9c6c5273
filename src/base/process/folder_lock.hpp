#pragma once

#include "base/descriptor.hpp"
#include "base/result.hpp"

#include <filesystem>

namespace crab {

/// Holds `folder` for this process, until the descriptor closes or the process ends, however that
/// happens. The folder is made (mode 0700) if it is not there; its file `lock` stays. Errors:
/// kUnavailable when another process holds it, or when it cannot be written.
Result<Descriptor> lock_folder(const std::filesystem::path& folder);

}  // namespace crab
