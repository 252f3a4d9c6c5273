#pragma once

#include "base/descriptor.hpp"
#include "base/result.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace crab::cli {

/// The content of a file, `-` being standard input; at most 64 MiB. Errors: kNotFound, kForbidden,
/// kOversize.
Result<std::string> read_input(std::string_view path);

/// A new file that only its owner may read and write; an existing file or link is not touched.
/// Errors: kConflict, kForbidden.
Result<Descriptor> create_private_file(const std::filesystem::path& path);

/// A word quoted for a shell if needed.
std::string shell_word(std::string_view word);

}  // namespace crab::cli
