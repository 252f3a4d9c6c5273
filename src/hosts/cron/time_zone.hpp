#pragma once

#include <chrono>

#include <cctz/time_zone.h>

namespace crab::cron {

/// From some moment on, local time differs from UTC by one offset.
struct ZoneSpan {
    std::chrono::sys_seconds end = std::chrono::sys_seconds::max();  ///< the first second after it
    std::chrono::seconds offset{0};  ///< local time minus UTC

    friend bool operator==(const ZoneSpan&, const ZoneSpan&) = default;
};

/// How a place's clocks differ from UTC at any time: a zone of cctz, which knows what follows the
/// last change of a zone's file as well (RFC 8536, section 3.3). A cheap value; thread-safe.
class TimeZone {
public:
    /// UTC, for which no file is needed.
    TimeZone() = default;
    explicit TimeZone(cctz::time_zone zone) : zone_(zone) {}

    /// The span from `time` on.
    ZoneSpan span_from(std::chrono::sys_seconds time) const;

private:
    cctz::time_zone zone_;
};

}  // namespace crab::cron
