#include "base/duration_text.hpp"

#include <charconv>

namespace crab {

std::optional<Milliseconds> parse_duration(std::string_view text) {
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc{}) return std::nullopt;
    const std::string_view unit(end, text.data() + text.size());
    double milliseconds = 0;
    if (unit == "ms")
        milliseconds = number;
    else if (unit.empty() || unit == "s")
        milliseconds = number * 1e3;
    else if (unit == "m" || unit == "min")
        milliseconds = number * 60e3;
    else if (unit == "h")
        milliseconds = number * 3600e3;
    else if (unit == "d")
        milliseconds = number * 86400e3;
    else
        return std::nullopt;
    if (!(milliseconds >= 1) || milliseconds > 3650 * 86400e3) return std::nullopt;
    return Milliseconds(static_cast<std::int64_t>(milliseconds));
}

}  // namespace crab
