#pragma once

#include "base/result.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace crab::cron {

/// Local wall-clock time, in minutes.
using LocalMinutes = std::chrono::local_time<std::chrono::minutes>;

/// A schedule of five fields (minute, hour, day, month, weekday) or an alias such as `@daily`, in
/// local time. CronOccurrences applies time zones. Immutable. Source: docs/protocols/rtp.md,
/// section 11, "Schedule".
class CronSchedule {
public:
    static constexpr std::size_t kMostBytes = 512;

    /// Errors: kInvalidArgs naming the field and the problem; also for impossible dates (30
    /// February).
    static Result<CronSchedule> parse(std::string_view text);

    /// The first matching minute at or after `from` and before `until`.
    std::optional<LocalMinutes> next_match(LocalMinutes from, LocalMinutes until) const;
    /// Whether the hour field starts with `*`: such jobs follow elapsed time across DST changes,
    /// others the date.
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
