#pragma once

#include "base/clock.hpp"

#include <filesystem>
#include <optional>

namespace crab::gateway {

/// When the first certificate of a PEM file ends; nothing if it cannot be read. Blocks.
std::optional<SystemTime> certificate_end(const std::filesystem::path& pem);

}  // namespace crab::gateway
