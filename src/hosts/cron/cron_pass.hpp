#pragma once

#include "base/id_source.hpp"
#include "hosts/cron/cron_store.hpp"
#include "hosts/cron/time_zones.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace crab::cron {

struct CronPassOptions {
    std::string component_id = "cron";      ///< the source of events
    std::size_t batch = 256;                ///< jobs per commit
    /// A job with this many unpublished events does not fire
    std::uint64_t most_unpublished = 64;
    /// Of a fleet, whose nodes share the store: how long this one waits at most until it looks what
    /// others have created, and how much later than the jobs' times, so that not all come at once.
    std::optional<Milliseconds> look_every;
    Milliseconds lag{0};
};

struct CronPass {
    std::size_t events = 0;
    bool more = false;  ///< there may be more due jobs
    std::optional<SystemTime> next_wake;  ///< unless there are more
};

/// Fires a batch of jobs that are due at `now` and stores the results. A job whose time zone cannot
/// be read, or with too many unpublished events, is retried a minute later; its missed-tick policy
/// applies. Blocks.
Result<CronPass> fire_due_jobs(CronStore& store, TimeZones& zones, IdSource& ids,
                               const CronPassOptions& options, SystemTime now);

/// If the clock is set back further than this, it was wrong before.
inline constexpr std::chrono::hours kClockWasWrong{24};

/// Reschedules jobs that were processed while the clock was far ahead, from `now` on. Blocks.
Result<void> forget_wrong_times(CronStore& store, TimeZones& zones, SystemTime now);

}  // namespace crab::cron
