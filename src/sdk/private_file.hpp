#pragma once

#include "base/result.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace crab::sdk {

/// A small file that only its owner may read.
/// Errors of read: kNotFound, kUnavailable (cannot be read), kForbidden (others may read it).
Result<std::string> read_private_file(const std::filesystem::path& path);
/// Replaces the file atomically, mode 0600; creates the directory (0700) if missing. Errors:
/// kUnavailable.
Result<void> write_private_file(const std::filesystem::path& path, std::string_view content);

}  // namespace crab::sdk
