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

/// A new file that only its owner may read and write; a file or link that is there already is left
/// alone. Errors: kConflict, kForbidden.
Result<Descriptor> create_private_file(const std::filesystem::path& path);

/// A word as a shell takes it back: in quotes where it has to be.
std::string shell_word(std::string_view word);

}  // namespace crab::cli
