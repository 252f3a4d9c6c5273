#pragma once

#include "hosts/cron/cron_event.hpp"
#include "hosts/cron/cron_occurrences.hpp"

#include <cstdint>
#include <vector>

namespace crab::cron {

/// A firing that comes no later than this after its minute began is on time.
inline constexpr std::chrono::seconds kOnTime{60};
/// Missed minutes are counted up to here.
inline constexpr std::uint32_t kMostCounted = 10'000;

struct CronDecision {
    std::vector<CronTick> ticks;  ///< oldest first; at most one that was missed, and two on time
    SystemTime next_run_at;  ///< after now
};

/// What a job does at `now` that has been due since `due`, one of its occurrences: every occurrence
/// that is on time fires; of those that are late the last fires with kRunOnce, none with kSkip.
/// Source: docs/protocols/rtp.md, section 11, "Firing".
CronDecision decide(const CronOccurrences& occurrences, MissedTickPolicy policy, SystemTime due,
                    SystemTime now);

}  // namespace crab::cron
