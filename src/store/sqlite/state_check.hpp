#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <filesystem>

namespace crab::store::sqlite {

/// Opens every store that has a file in a state folder or below it, as a gateway would, and closes
/// it again: each is checked and brought to the schema of this program. Returns how many files
/// there were. Blocks. Errors: those of Database::open() and Database::migrate(), such as kInternal
/// for a damaged file and for a newer schema, with the file's name.
Result<std::size_t> check_state(const std::filesystem::path& folder);

}  // namespace crab::store::sqlite
