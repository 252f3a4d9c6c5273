#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace crab::gateway {

/// A file that the key `key` of the configuration names, `most` bytes long at most. Blocks. Errors:
/// kInvalidArgs, which names the key.
Result<std::string> read_fleet_file(const std::filesystem::path& file, std::string_view key,
                                    std::size_t most);

}  // namespace crab::gateway
