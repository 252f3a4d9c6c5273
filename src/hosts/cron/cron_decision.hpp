#pragma once

#include "hosts/cron/cron_event.hpp"
#include "hosts/cron/cron_occurrences.hpp"

#include <cstdint>
#include <vector>

namespace crab::cron {

/// A firing up to this long after the start of its minute is on time.
inline constexpr std::chrono::seconds kOnTime{60};
/// Upper bound for counting missed minutes.
inline constexpr std::uint32_t kMostCounted = 10'000;

struct CronDecision {
    std::vector<CronTick> ticks;  ///< oldest first; at most one that was missed, and two on time
    SystemTime next_run_at;  ///< after now
};

/// Decides what a job that has been due since the occurrence `due` does at `now`: every occurrence
/// on time fires; of the late ones the last fires with kRunOnce, none with kSkip. Source:
/// docs/protocols/rtp.md, section 11, "Firing".
CronDecision decide(const CronOccurrences& occurrences, MissedTickPolicy policy, SystemTime due,
                    SystemTime now);

}  // namespace crab::cron
