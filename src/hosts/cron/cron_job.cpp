#include "hosts/cron/cron_job.hpp"

#include "json/writer.hpp"

namespace crab::cron {

std::string_view name_of(CronEventType type) {
    switch (type) {
        case CronEventType::kTriggered: return "cron.triggered";
        case CronEventType::kHeartbeat: return "heartbeat.tick";
    }
    return "";
}

std::optional<CronEventType> find_event_type(std::string_view name) {
    for (const CronEventType type : {CronEventType::kTriggered, CronEventType::kHeartbeat}) {
        if (name_of(type) == name) return type;
    }
    return std::nullopt;
}

std::string_view name_of(MissedTickPolicy policy) {
    switch (policy) {
        case MissedTickPolicy::kSkip: return "skip";
        case MissedTickPolicy::kRunOnce: return "run_once";
    }
    return "";
}

std::optional<MissedTickPolicy> find_missed_tick_policy(std::string_view name) {
    for (const MissedTickPolicy policy : {MissedTickPolicy::kSkip, MissedTickPolicy::kRunOnce}) {
        if (name_of(policy) == name) return policy;
    }
    return std::nullopt;
}

void write_members(json::Writer& writer, const CronJob& job) {
    writer.key("job_id")
        .string(job.job_id)
        .key("name")
        .string(job.name)
        .key("schedule")
        .string(job.schedule)
        .key("timezone")
        .string(job.timezone);
    writer.key("event_type")
        .string(name_of(job.event_type))
        .key("tenant_id")
        .string(job.tenant.text());
    writer.key("agent_id").string(job.agent_id).key("session_id").string(job.session_id);
    if (!job.isolation_key.empty()) writer.key("isolation_key").string(job.isolation_key);
    writer.key("input").raw(job.input.empty() ? "{}" : job.input);
    writer.key("missed_tick_policy")
        .string(name_of(job.missed_ticks))
        .key("enabled")
        .boolean(job.enabled);
    writer.key("created_at")
        .string(to_rfc3339(job.created_at))
        .key("updated_at")
        .string(to_rfc3339(job.updated_at));
    writer.key("next_run_at").string(to_rfc3339(job.next_run_at));
    if (job.last_run_at) writer.key("last_run_at").string(to_rfc3339(*job.last_run_at));
}

}  // namespace crab::cron
