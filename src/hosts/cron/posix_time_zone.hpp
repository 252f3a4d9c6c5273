#pragma once

#include "hosts/cron/zone_span.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace crab::cron {

/// The rule at the end of a time zone file, such as `CET-1CEST,M3.5.0,M10.5.0/3`: the offset in
/// every year to come. Source: RFC 8536, section 3.3 (hours of a change from -167 to 167), and
/// POSIX, "TZ".
class PosixTimeZone {
public:
    /// Nothing for text that is not such a rule.
    static std::optional<PosixTimeZone> parse(std::string_view text);

    /// The span around `time`. Before the year 1 and after the year 9999 there is standard time
    /// only.
    ZoneSpan span_at(std::chrono::sys_seconds time) const;

private:
    friend class PosixTimeZoneReader;

    /// When in a year the offset changes.
    struct Change {
        enum class Kind : std::uint8_t { kMonthWeekDay, kDayWithoutLeapDay, kDay };
        Kind kind = Kind::kMonthWeekDay;
        unsigned month = 0, week = 0, day = 0;
        /// Of the clock before the change
        std::chrono::seconds time_of_day{std::chrono::hours(2)};

        std::chrono::sys_seconds in(std::chrono::year year) const;  ///< as if that clock showed UTC
    };

    std::chrono::seconds standard_{0}, summer_{0};  ///< east of Greenwich
    bool has_summer_ = false;
    Change to_summer_, to_standard_;
};

}  // namespace crab::cron
