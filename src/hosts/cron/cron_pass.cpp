#include "hosts/cron/cron_pass.hpp"

#include "base/log.hpp"
#include "hosts/cron/cron_decision.hpp"

namespace crab::cron {
namespace {

constexpr std::chrono::seconds kLookAgain{60};

/// A job that stays as it is until somebody looks again.
CronFiring unchanged(const DueJob& due, SystemTime now) {
    return {.number = due.number,
            .was_due = due.job.next_run_at,
            .decided_at = now,
            .next_run_at = due.job.next_run_at,
            .wake_at = now + kLookAgain,
            .envelopes = {}};
}

Result<CronOccurrences> occurrences_of(const CronJob& job, TimeZones& zones) {
    auto schedule = CronSchedule::parse(job.schedule);
    if (!schedule) return fail(std::move(schedule.error()));
    auto zone = zones.find(job.timezone);
    if (!zone) return fail(std::move(zone.error()));
    return CronOccurrences(*schedule, std::move(*zone));
}

void log_stuck(const CronJob& job, std::string_view reason) {
    log::error("cron job cannot fire",
               {{"job_id", job.job_id}, {"tenant_id", job.tenant.text()}, {"reason", reason}});
}

CronFiring firing_of(const DueJob& due, TimeZones& zones, IdSource& ids,
                     const CronPassOptions& options, SystemTime now) {
    const CronJob& job = due.job;
    CronFiring firing = unchanged(due, now);
    const auto occurrences = occurrences_of(job, zones);
    if (!occurrences) {
        log_stuck(job, occurrences.error().message);
        return firing;
    }
    if (due.unpublished >= options.most_unpublished) {
        log_stuck(job, "nobody accepts its events");
        return firing;
    }
    const CronDecision decision = decide(*occurrences, job.missed_ticks, job.next_run_at, now);
    firing.next_run_at = firing.wake_at = decision.next_run_at;
    for (const CronTick& tick : decision.ticks) {
        const UuidText event_id = ids.uuid_v7();
        firing.envelopes.push_back(
            to_envelope(job, tick, now, event_id.view(), options.component_id));
    }
    if (job.next_run_at < now - kOnTime) {
        log::warn("cron job missed minutes", {{"job_id", job.job_id},
                                              {"policy", name_of(job.missed_ticks)},
                                              {"since", to_rfc3339(job.next_run_at)},
                                              {"events", decision.ticks.size()}});
    }
    return firing;
}

}  // namespace

Result<CronPass> fire_due_jobs(CronStore& store, TimeZones& zones, IdSource& ids,
                               const CronPassOptions& options, SystemTime now) {
    CronPass pass;
    const auto fired = store.fire_due(now, options.batch, [&](std::span<const DueJob> jobs) {
        std::vector<CronFiring> firings;
        firings.reserve(jobs.size());
        for (const DueJob& due : jobs) firings.push_back(firing_of(due, zones, ids, options, now));
        return firings;
    });
    if (!fired) return fail(fired.error());
    pass.events = fired->events;
    pass.more = fired->jobs >= options.batch;
    if (pass.more) return pass;
    auto next = store.next_wake();
    if (!next) return fail(std::move(next.error()));
    pass.next_wake = *next;
    return pass;
}

Result<void> forget_wrong_times(CronStore& store, TimeZones& zones, SystemTime now) {
    constexpr std::size_t kBatch = 256;
    for (;;) {
        const auto jobs = store.decided_after(now + kClockWasWrong, kBatch);
        if (!jobs) return fail(jobs.error());
        if (jobs->empty()) return {};
        log::warn("cron jobs follow a clock that was set back",
                  {{"jobs", jobs->size()}, {"now", to_rfc3339(now)}});
        std::vector<CronFiring> firings;
        for (const DueJob& due : *jobs) {
            CronFiring firing = unchanged(due, now);
            const auto occurrences = occurrences_of(due.job, zones);
            if (const auto next = occurrences ? occurrences->next_after(now) : std::nullopt)
                firing.next_run_at = firing.wake_at = *next;
            firings.push_back(std::move(firing));
        }
        if (const auto stored = store.fire(firings); !stored) return fail(stored.error());
    }
}

}  // namespace crab::cron
