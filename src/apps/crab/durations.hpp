#pragma once

#include "base/clock.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace crab::app {

/// `500ms`, `5s`, `2m`, `1h`, `30d`, a number alone being seconds; decimal fractions allowed, more than nothing and at most ten
/// years. Nothing for any other text.
std::optional<Milliseconds> parse_duration(std::string_view text);

/// As people say it: `850 µs`, `12.3 ms`, `4.0 s`, `3m 20s`, `2h 5m`, `4d 3h`.
std::string to_words(std::chrono::microseconds duration);
/// `512 B`, `1.5 kB`, `3.2 MB`.
std::string bytes_in_words(std::int64_t bytes);

}  // namespace crab::app
