#pragma once

#include "base/clock.hpp"
#include "hosts/cron/cron_schedule.hpp"
#include "hosts/cron/time_zone.hpp"

#include <chrono>
#include <optional>

namespace crab::cron {

using SysMinutes = std::chrono::sys_time<std::chrono::minutes>;

/// The minutes in which a schedule fires in a time zone, including DST changes:
/// - a schedule whose hour field begins with `*` fires in each minute that reads as a match;
/// - any other goes by the highest reading of the clock so far: it fires in a minute whose reading
/// passes a match. So a repeated
///   hour counts the first time only, and what a gap skipped fires once, right after it.
/// Source: docs/protocols/rtp.md, section 11, "DST".
class CronOccurrences {
public:
    CronOccurrences(const CronSchedule& schedule, TimeZone zone)
        : schedule_(schedule), zone_(zone) {}

    /// The first one that begins after `time`. Nothing only when the calendar ends (no two
    /// occurrences are 12 years apart).
    std::optional<SysMinutes> next_after(SystemTime time) const;
    /// The last occurrence from the occurrence `first` to `until`. Costs about 20 times
    /// next_after(), however many lie between.
    SysMinutes latest(SysMinutes first, SysMinutes until) const;

private:
    LocalMinutes highest_reading_before(SysMinutes time) const;

    CronSchedule schedule_;
    TimeZone zone_;
};

}  // namespace crab::cron
