#pragma once

#include "base/result.hpp"

#include <chrono>
#include <filesystem>

namespace crab::cli {

/// How long the first certificate of a PEM file is still valid; negative after its end. Errors:
/// kNotFound, kInvalidArgs.
Result<std::chrono::days> certificate_time_left(const std::filesystem::path& pem);

}  // namespace crab::cli
