#pragma once

#include "base/result.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace crab::cron {

/// What a clock on the wall reads, to the minute.
using LocalMinutes = std::chrono::local_time<std::chrono::minutes>;

/// Minutes of a wall clock by five fields (minute, hour, day, month, weekday) or an alias such as
/// `@daily`. It knows no time zone: cron_occurrences.hpp says what a change of the clock does to
/// it. Immutable. Source: docs/protocols/rtp.md, section 11, "Schedule".
class CronSchedule {
public:
    static constexpr std::size_t kMostBytes = 512;

    /// Errors: kInvalidArgs with the field and what is wrong in it; also for dates that never come
    /// (30 February).
    static Result<CronSchedule> parse(std::string_view text);

    /// The first matching minute at or after `from` and before `until`.
    std::optional<LocalMinutes> next_match(LocalMinutes from, LocalMinutes until) const;
    /// Whether the hour field begins with `*`: such a job follows real time when the clock is
    /// changed, others the date.
    bool runs_every_hour() const { return hour_begins_with_star_; }

private:
    bool matches_day(std::chrono::year_month_day date) const;
    bool comes_ever() const;

    // Bit n stands for the value n.
    std::uint64_t minutes_ = 0;
    std::uint32_t hours_ = 0, days_ = 0, months_ = 0, weekdays_ = 0;
    bool hour_begins_with_star_ = false;
    bool any_day_ = false, any_weekday_ = false;  ///< the field has a plain `*`
};

}  // namespace crab::cron
