#include "hosts/cron/cron_event.hpp"

#include "json/writer.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace crab::cron {
namespace {

std::string_view reason_of(CronEventType type) {
    switch (type) {
        case CronEventType::kTriggered: return "scheduled_task";
        case CronEventType::kHeartbeat: return "heartbeat";
    }
    return "";
}

}  // namespace

std::string idempotency_key_of(const CronJob& job, const CronTick& tick) {
    return fmt::format("cron:{}:{}", job.job_id, to_rfc3339(tick.scheduled_for));
}

std::string to_envelope(const CronJob& job, const CronTick& tick, SystemTime triggered_at,
                        std::string_view event_id, std::string_view component_id) {
    // A firing begins a trace; its id has the form of W3C trace contexts, 32 hexadecimal digits.
    std::string trace_id;
    std::ranges::copy_if(event_id, std::back_inserter(trace_id), [](char c) { return c != '-'; });
    const std::string triggered = to_rfc3339(triggered_at);

    std::string envelope;
    envelope.reserve(768 + job.input.size());
    json::Writer writer(envelope);
    writer.begin_object()
        .key("version")
        .string("v1")
        .key("event_id")
        .string(event_id)
        .key("trace_id")
        .string(trace_id);
    writer.key("tenant_id")
        .string(job.tenant.text())
        .key("occurred_at")
        .string(triggered)
        .key("event_type")
        .string(name_of(job.event_type));
    writer.key("source")
        .begin_object()
        .key("component_type")
        .string("cron")
        .key("component_id")
        .string(component_id)
        .end_object();
    writer.key("routing")
        .begin_object()
        .key("agent_id")
        .string(job.agent_id)
        .key("session_id")
        .string(job.session_id);
    if (!job.isolation_key.empty()) writer.key("isolation_key").string(job.isolation_key);
    writer.end_object();
    writer.key("payload")
        .begin_object()
        .key("job_id")
        .string(job.job_id)
        .key("job_name")
        .string(job.name);
    writer.key("scheduled_for")
        .string(to_rfc3339(tick.scheduled_for))
        .key("triggered_at")
        .string(triggered);
    if (!job.input.empty()) writer.key("input").raw(job.input);
    writer.key("reason").string(reason_of(job.event_type));
    if (tick.missed_count > 0) writer.key("missed_count").unsigned_integer(tick.missed_count);
    writer.end_object();
    writer.key("idempotency_key").string(idempotency_key_of(job, tick)).end_object();
    return envelope;
}

}  // namespace crab::cron
