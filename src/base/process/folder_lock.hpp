#pragma once

#include "base/descriptor.hpp"
#include "base/result.hpp"

#include <filesystem>

namespace crab {

/// Locks `folder` for this process until the descriptor is closed or the process ends, even by a
/// crash. Creates the folder (mode 0700) if missing; its file `lock` stays. Errors: kUnavailable
/// when another process holds it, or when it cannot be written.
Result<Descriptor> lock_folder(const std::filesystem::path& folder);

}  // namespace crab
