#pragma once

#include "base/duration_text.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace crab::cli {

/// For people: `850 µs`, `12.3 ms`, `4.0 s`, `3m 20s`, `2h 5m`, `4d 3h`.
std::string to_words(std::chrono::microseconds duration);
/// `512 B`, `1.5 kB`, `3.2 MB`.
std::string bytes_in_words(std::int64_t bytes);

}  // namespace crab::cli
