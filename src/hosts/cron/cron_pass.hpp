#pragma once

#include "base/id_source.hpp"
#include "hosts/cron/cron_store.hpp"
#include "hosts/cron/time_zones.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace crab::cron {

struct CronPassOptions {
    std::string component_id = "cron";      ///< what events name as their source
    std::size_t batch = 256;                ///< jobs per commit
    /// A job with so many events that nobody has accepted fires no more until then
    std::uint64_t most_unpublished = 64;
};

struct CronPass {
    std::size_t events = 0;
    bool more = false;                      ///< there may be more due jobs
    std::optional<SystemTime> next_wake;    ///< unless there are more
};

/// Decides upon jobs that are due at `now`, a batch of them, and stores what came of it. A job
/// whose time zone cannot be read, or whose events nobody accepts, is looked at again a minute
/// later; what it misses then falls under its policy. Blocks.
Result<CronPass> fire_due_jobs(CronStore& store, TimeZones& zones, IdSource& ids,
                               const CronPassOptions& options, SystemTime now);

/// A clock that has been set back further than this was wrong before.
inline constexpr std::chrono::hours kClockWasWrong{24};

/// Lets jobs that were decided upon while the clock was far ahead run again by the right time, from
/// `now` on. Blocks.
Result<void> forget_wrong_times(CronStore& store, TimeZones& zones, SystemTime now);

}  // namespace crab::cron
