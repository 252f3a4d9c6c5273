#pragma once

#include "base/descriptor.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace crab {

/// The whole content of a file, at most `most` bytes. Blocks.
/// Errors: kNotFound, kForbidden (it may not be read), kUnavailable, kOversize; each names the file
/// and the reason.
Result<std::string> read_file(const std::filesystem::path& path,
                              std::size_t most = std::size_t{64} << 20);

/// Reads the rest of an open file. Nothing, with errno set, when it cannot be read or (EFBIG) has
/// more than `most` bytes. Blocks.
std::optional<std::string> read_to_end(const Descriptor& file, std::size_t most);

/// Replaces a file atomically and durably: writes a new file (`.new`), syncs it, renames it over
/// the old one and syncs the folder. Blocks. Errors: kUnavailable, with the file and the reason.
Result<void> replace_file(const std::filesystem::path& path, std::string_view content,
                          mode_t mode = 0600);

}  // namespace crab
