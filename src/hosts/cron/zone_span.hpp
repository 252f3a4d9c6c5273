#pragma once

#include <chrono>

namespace crab::cron {

/// A span of time through which local time differs from UTC by one offset.
struct ZoneSpan {
    std::chrono::sys_seconds begin = std::chrono::sys_seconds::min();   ///< the first second
    std::chrono::sys_seconds end = std::chrono::sys_seconds::max();  ///< the first one after it
    std::chrono::seconds offset{0};  ///< local time minus UTC

    friend bool operator==(const ZoneSpan&, const ZoneSpan&) = default;
};

}  // namespace crab::cron
