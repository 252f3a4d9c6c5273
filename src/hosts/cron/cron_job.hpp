#pragma once

#include "base/clock.hpp"
#include "base/id.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::json {
class Writer;
}

namespace crab::cron {

/// The event type of a job.
enum class CronEventType : std::uint8_t { kTriggered, kHeartbeat };
std::string_view name_of(CronEventType type);
std::optional<CronEventType> find_event_type(std::string_view name);

/// How to treat minutes that were missed.
enum class MissedTickPolicy : std::uint8_t { kSkip, kRunOnce };
std::string_view name_of(MissedTickPolicy policy);
std::optional<MissedTickPolicy> find_missed_tick_policy(std::string_view name);

/// A scheduled event for the agent and session of the call that created it. Times are whole
/// milliseconds. Source: docs/protocols/rtp.md, section 11, "Job".
struct CronJob {
    std::string job_id;                      ///< UUIDv7
    std::string name, schedule, timezone;
    CronEventType event_type = CronEventType::kTriggered;
    TenantId tenant;
    std::string agent_id, session_id;
    std::string isolation_key;               ///< empty: none
    std::string input;                       ///< a JSON object, compact; empty: none
    MissedTickPolicy missed_ticks = MissedTickPolicy::kSkip;
    bool enabled = true;
    SystemTime created_at, updated_at;
    SystemTime next_run_at;                  ///< for a disabled job: when it would run
    std::optional<SystemTime> last_run_at;   ///< when its latest event was triggered

    friend bool operator==(const CronJob&, const CronJob&) = default;
};

/// Appends a job's public members to an open object.
void write_members(json::Writer& writer, const CronJob& job);

}  // namespace crab::cron
