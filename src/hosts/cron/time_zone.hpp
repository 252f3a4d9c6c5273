#pragma once

#include <chrono>

#include <cctz/time_zone.h>

namespace crab::cron {

/// A period with a constant offset from UTC.
struct ZoneSpan {
    std::chrono::sys_seconds end = std::chrono::sys_seconds::max();  ///< the first second after it
    std::chrono::seconds offset{0};  ///< local time minus UTC

    friend bool operator==(const ZoneSpan&, const ZoneSpan&) = default;
};

/// A time zone of cctz, including the rule for times after a zone file's last change (RFC 8536,
/// section 3.3). Cheap to copy; thread-safe.
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
