#include "cli/output/durations.hpp"

#include <fmt/format.h>

namespace crab::cli {

std::string to_words(std::chrono::microseconds duration) {
    const std::int64_t us = duration.count();
    if (us < 1'000) return fmt::format("{} µs", us);
    if (us < 1'000'000) return fmt::format("{:.1f} ms", static_cast<double>(us) / 1e3);
    if (us < 60'000'000) return fmt::format("{:.1f} s", static_cast<double>(us) / 1e6);
    const std::int64_t minutes = us / 60'000'000;
    if (minutes < 60) return fmt::format("{}m {}s", minutes, us / 1'000'000 % 60);
    if (minutes < 24 * 60) return fmt::format("{}h {}m", minutes / 60, minutes % 60);
    return fmt::format("{}d {}h", minutes / 1440, minutes / 60 % 24);
}

std::string bytes_in_words(std::int64_t bytes) {
    if (bytes < 1'000) return fmt::format("{} B", bytes);
    if (bytes < 1'000'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
    return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

}  // namespace crab::cli
