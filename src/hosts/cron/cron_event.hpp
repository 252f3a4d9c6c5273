#pragma once

#include "base/clock.hpp"
#include "hosts/cron/cron_job.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace crab::cron {

/// One firing of a job.
struct CronTick {
    SystemTime scheduled_for;        ///< the minute that matched
    /// The number of missed minutes it replaces, up to kMostCounted; 0: on time
    std::uint32_t missed_count = 0;

    friend bool operator==(const CronTick&, const CronTick&) = default;
};

/// `cron:<job_id>:<scheduled_for>`: stable across repeats of one firing.
std::string idempotency_key_of(const CronJob& job, const CronTick& tick);

/// The event of this firing as JSON. `event_id` is a UUIDv7; `component_id` is the cron host's
/// name. Source: docs/protocols/rtp.md, sections 9 (envelope) and 11 (payload).
std::string to_envelope(const CronJob& job, const CronTick& tick, SystemTime triggered_at,
                        std::string_view event_id, std::string_view component_id);

}  // namespace crab::cron
