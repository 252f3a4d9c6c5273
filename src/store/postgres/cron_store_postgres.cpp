#include "store/postgres/cron_store_postgres.hpp"

#include "base/encoding.hpp"
#include "crypto/digest.hpp"
#include "store/postgres/event_batch.hpp"

#include <fmt/format.h>

namespace crab::store::postgres {
namespace {

/// What a job takes on a page beside its name and its input, about.
constexpr std::size_t kJobBytes = 512;
constexpr std::string_view kJobColumns =
    "job_id, name, schedule, timezone, event_type, tenant, agent_id, session_id, isolation_key, "
    "input, missed_ticks, enabled, created_ms, updated_ms, next_run_ms, last_run_ms";

cron::CronJob job_of(const Rows::Row& row) {
    return {.job_id = row.text(0),
            .name = row.text(1),
            .schedule = row.text(2),
            .timezone = row.text(3),
            .event_type =
                cron::find_event_type(row.text_view(4)).value_or(cron::CronEventType::kTriggered),
            .tenant = TenantId(row.text(5)),
            .agent_id = row.text(6),
            .session_id = row.text(7),
            .isolation_key = row.text(8),
            .input = row.text(9),
            .missed_ticks = cron::find_missed_tick_policy(row.text_view(10))
                                .value_or(cron::MissedTickPolicy::kSkip),
            .enabled = row.boolean(11),
            .created_at = row.time(12),
            .updated_at = row.time(13),
            .next_run_at = row.time(14),
            .last_run_at = row.optional_time(15)};
}

/// Changes of one tenant's jobs come one after the other, from all nodes.
Result<void> lock_tenant(Connection& database, const TenantId& tenant) {
    return database.run("SELECT pg_advisory_xact_lock(hashtextextended('cron ' || $1, 0))",
                        tenant.text());
}

std::unexpected<Error> too_many(std::size_t most) {
    return fail(
        Error{.code = ErrorCode::kRateLimited,
              .message = fmt::format("a tenant has at most {} jobs; remove one first", most),
              .details = {},
              .retryable = false,
              .retry_after = {}});
}

}  // namespace

/// What is kept of a request; the rest of a created job is in its repeat, which is equal.
struct CronStorePostgres::Known {
    std::string operation_id, job_id, session_id;
    SystemTime next_run_at, made_at;
};

/// The first request under this key, if it is a day old at most. Errors: kConflict when that asked
/// for something else.
Result<std::optional<CronStorePostgres::Known>> CronStorePostgres::find_request(
    const cron::CronRequest& request) {
    if (auto locked = lock_tenant(database_, request.tenant); !locked)
        return fail(std::move(locked.error()));
    const auto digest = crypto::sha256(request.content);
    auto rows = database_.query(
        "SELECT content = $5, operation_id, job_id, session_id, next_run_ms, made_ms FROM "
        "cron_request WHERE tenant = $1 AND principal = $2 AND key = $3 AND made_ms > $4",
        request.tenant.text(), request.principal, request.key, request.at - cron::kKeepRequests,
        std::span<const std::uint8_t>(digest));
    if (!rows) return fail(std::move(rows.error()));
    if (rows->count() == 0) return std::nullopt;
    const auto row = (*rows)[0];
    if (!row.boolean(0))
        return fail(
            ErrorCode::kConflict,
            "this idempotency key or call id was used for another change of jobs; use a new one");
    return Known{.operation_id = row.text(1),
                 .job_id = row.text(2),
                 .session_id = row.text(3),
                 .next_run_at = row.time(4),
                 .made_at = row.time(5)};
}

Result<void> CronStorePostgres::keep_request(const cron::CronRequest& request,
                                             const cron::CronJob& job) {
    auto pruned = database_.run("DELETE FROM cron_request WHERE made_ms <= $1",
                                request.at - cron::kKeepRequests);
    if (!pruned) return pruned;
    const auto digest = crypto::sha256(request.content);
    return database_.run(
        "INSERT INTO cron_request (tenant, principal, key, content, operation_id, job_id, "
        "session_id, next_run_ms, made_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        request.tenant.text(), request.principal, request.key,
        std::span<const std::uint8_t>(digest), request.operation_id, job.job_id, job.session_id,
        job.next_run_at, request.at);
}

Result<void> CronStorePostgres::insert(const cron::CronJob& job) {
    return database_.run(
        "INSERT INTO cron_job (tenant, job_id, name, schedule, timezone, event_type, agent_id, "
        "session_id, isolation_key, input, missed_ticks, enabled, created_ms, updated_ms, "
        "next_run_ms, last_run_ms, wake_ms, decided_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, "
        "$9, $10, $11, $12, $13, $14, $15, $16, $15, $13)",
        job.tenant.text(), job.job_id, job.name, job.schedule, job.timezone,
        cron::name_of(job.event_type), job.agent_id, job.session_id, job.isolation_key, job.input,
        cron::name_of(job.missed_ticks), job.enabled, job.created_at, job.updated_at,
        job.next_run_at, job.last_run_at);
}

Result<cron::CronCreated> CronStorePostgres::create(const cron::CronRequest& request,
                                                    const cron::CronJob& job,
                                                    std::size_t most_jobs) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<cron::CronCreated> {
        cron::CronCreated created{.operation_id = request.operation_id, .job = job};
        auto known = find_request(request);
        if (!known) return fail(std::move(known.error()));
        if (const auto& first = *known) {
            created.operation_id = first->operation_id;
            created.job.job_id = first->job_id;
            created.job.session_id = first->session_id;
            created.job.created_at = created.job.updated_at = first->made_at;
            created.job.next_run_at = first->next_run_at;
            return created;
        }
        auto counted =
            database_.query("SELECT count(*) FROM cron_job WHERE tenant = $1", job.tenant.text());
        if (!counted) return fail(std::move(counted.error()));
        if ((*counted)[0].integer(0) >= static_cast<std::int64_t>(most_jobs))
            return too_many(most_jobs);
        if (auto inserted = insert(job); !inserted) return fail(std::move(inserted.error()));
        if (auto kept = keep_request(request, job); !kept) return fail(std::move(kept.error()));
        return created;
    });
}

Result<std::string> CronStorePostgres::remove(const cron::CronRequest& request,
                                              std::string_view job_id) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<std::string> {
        auto known = find_request(request);
        if (!known) return fail(std::move(known.error()));
        if (*known) return (*known)->operation_id;
        auto removed = database_.query("DELETE FROM cron_job WHERE tenant = $1 AND job_id = $2",
                                       request.tenant.text(), job_id);
        if (!removed) return fail(std::move(removed.error()));
        if (removed->changed() == 0) return fail(ErrorCode::kInvalidArgs, "job not found");
        cron::CronJob gone;
        gone.job_id = job_id;
        if (auto kept = keep_request(request, gone); !kept) return fail(std::move(kept.error()));
        return request.operation_id;
    });
}

// A page is cut here, but no more of its rows are sent than its bytes allow and one more.
Result<cron::CronPage> CronStorePostgres::list(const TenantId& tenant, std::string_view after,
                                               std::size_t limit, std::size_t max_bytes) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        fmt::format("SELECT {0} FROM (SELECT {0}, coalesce(sum($5::bigint + octet_length(name) + "
                    "octet_length(input)) OVER (ORDER BY job_id ROWS BETWEEN UNBOUNDED PRECEDING "
                    "AND 2 PRECEDING), 0) AS before FROM (SELECT {0} FROM cron_job WHERE tenant = "
                    "$1 AND job_id > $2 ORDER BY job_id LIMIT $3) j) s WHERE before <= $4 ORDER BY "
                    "job_id",
                    kJobColumns),
        tenant.text(), after, limit + 1, max_bytes, kJobBytes);
    if (!rows) return fail(std::move(rows.error()));
    cron::CronPage page;
    std::size_t bytes = 0;
    for (const auto row : *rows) {
        page.more = page.jobs.size() == limit || bytes > max_bytes;
        if (page.more) break;
        page.jobs.push_back(job_of(row));
        bytes += kJobBytes + page.jobs.back().name.size() + page.jobs.back().input.size();
    }
    return page;
}

Result<std::vector<cron::DueJob>> CronStorePostgres::jobs_where(std::string_view condition,
                                                                SystemTime time,
                                                                std::size_t limit) {
    auto rows = database_.query(
        fmt::format("SELECT {}, number, (SELECT count(*) FROM cron_outbox WHERE job = "
                    "cron_job.number) FROM cron_job WHERE enabled AND {}",
                    kJobColumns, condition),
        time, limit);
    if (!rows) return fail(std::move(rows.error()));
    std::vector<cron::DueJob> jobs;
    for (const auto row : *rows)
        jobs.push_back({.number = row.integer(16),
                        .job = job_of(row),
                        .unpublished = static_cast<std::uint64_t>(row.integer(17))});
    return jobs;
}

Result<std::vector<cron::DueJob>> CronStorePostgres::due(SystemTime now, std::size_t limit) {
    const std::scoped_lock lock(mutex_);
    return jobs_where("wake_ms <= $1 ORDER BY wake_ms, number LIMIT $2", now, limit);
}

// Two nodes that come at once take different jobs. What is decided is decided with their rows
// locked.
Result<cron::CronFired> CronStorePostgres::fire_due(SystemTime now, std::size_t limit,
                                                    const Decide& decide) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<cron::CronFired> {
        const auto jobs = jobs_where(
            "wake_ms <= $1 ORDER BY wake_ms, number LIMIT $2 FOR UPDATE SKIP LOCKED", now, limit);
        if (!jobs) return fail(jobs.error());
        if (jobs->empty()) return cron::CronFired{};
        const auto events = store(decide(*jobs));
        if (!events) return fail(events.error());
        return cron::CronFired{.jobs = jobs->size(), .events = *events};
    });
}

Result<std::vector<cron::DueJob>> CronStorePostgres::decided_after(SystemTime time,
                                                                   std::size_t limit) {
    const std::scoped_lock lock(mutex_);
    return jobs_where("decided_ms > $1 ORDER BY number LIMIT $2", time, limit);
}

Result<std::optional<SystemTime>> CronStorePostgres::find_time(const char* sql) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(sql);
    if (!rows) return fail(std::move(rows.error()));
    return (*rows)[0].optional_time(0);
}

Result<std::optional<SystemTime>> CronStorePostgres::next_wake() {
    return find_time("SELECT min(wake_ms) FROM cron_job WHERE enabled");
}

Result<std::optional<SystemTime>> CronStorePostgres::next_publish() {
    return find_time("SELECT min(retry_ms) FROM cron_outbox");
}

Result<std::size_t> CronStorePostgres::fire(std::span<const cron::CronFiring> firings) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&] { return store(firings); });
}

Result<std::size_t> CronStorePostgres::store(std::span<const cron::CronFiring> firings) {
    std::vector<const cron::CronFiring*> fired;
    std::size_t events = 0;
    for (const cron::CronFiring& firing : firings) {
        const auto moved = move(firing);
        if (!moved) return fail(moved.error());
        if (!*moved || firing.envelopes.empty()) continue;
        fired.push_back(&firing);
        events += firing.envelopes.size();
    }
    if (event_of_) {
        if (auto appended = append(fired); !appended) return fail(std::move(appended.error()));
        return events;
    }
    for (const cron::CronFiring* const firing : fired)
        if (auto kept = keep_to_publish(*firing); !kept) return fail(std::move(kept.error()));
    return events;
}

/// False when somebody else has, or the job is gone.
Result<bool> CronStorePostgres::move(const cron::CronFiring& firing) {
    const std::optional<SystemTime> last_run =
        firing.envelopes.empty() ? std::nullopt : std::optional(firing.decided_at);
    auto updated = database_.query(
        "UPDATE cron_job SET next_run_ms = $1, wake_ms = $2, decided_ms = $3, last_run_ms = "
        "coalesce($4, last_run_ms) WHERE number = $5 AND next_run_ms = $6",
        firing.next_run_at, firing.wake_at, firing.decided_at, last_run, firing.number,
        firing.was_due);
    if (!updated) return fail(std::move(updated.error()));
    return updated->changed() != 0;
}

Result<void> CronStorePostgres::keep_to_publish(const cron::CronFiring& firing) {
    Array envelopes;
    for (const std::string& envelope : firing.envelopes) envelopes.add(envelope);
    return database_.run(
        "INSERT INTO cron_outbox (job, envelope) SELECT $1, envelope FROM unnest($2::text[]) WITH "
        "ORDINALITY u(envelope, n) ORDER BY n",
        firing.number, envelopes);
}

// What is there already is one that was fired before the clock was set back, as for a publisher.
Result<void> CronStorePostgres::append(std::span<const cron::CronFiring* const> fired) {
    std::vector<core::NewEvent> events;
    SystemTime at{};
    for (const cron::CronFiring* const firing : fired) {
        for (const std::string& envelope : firing->envelopes) {
            auto event = event_of_(envelope);
            if (!event) return fail(std::move(event.error()));
            events.push_back(std::move(*event));
        }
        at = firing->decided_at;
    }
    if (events.empty()) return {};
    if (auto written = EventBatch(events, at).write(database_); !written)
        return fail(std::move(written.error()));
    return {};
}

Result<std::vector<cron::UnpublishedEvent>> CronStorePostgres::unpublished(SystemTime now,
                                                                           std::size_t limit) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT number, refusals, envelope FROM cron_outbox WHERE retry_ms <= $1 ORDER BY "
        "retry_ms, number LIMIT $2",
        now, limit);
    if (!rows) return fail(std::move(rows.error()));
    std::vector<cron::UnpublishedEvent> events;
    for (const auto row : *rows)
        events.push_back({.number = row.integer(0),
                          .refusals = static_cast<std::uint32_t>(row.integer(1)),
                          .envelope = row.text(2)});
    return events;
}

Result<void> CronStorePostgres::settle(std::span<const std::int64_t> accepted,
                                       std::span<const cron::EventDelay> refused) {
    Array gone, late, until;
    for (const std::int64_t number : accepted) gone.add_number(number);
    for (const cron::EventDelay& event : refused) {
        late.add_number(event.number);
        until.add_number(to_unix_ms(event.until));
    }
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        auto erased =
            database_.run("DELETE FROM cron_outbox WHERE number = ANY ($1::bigint[])", gone);
        if (!erased) return erased;
        return database_.run(
            "UPDATE cron_outbox SET retry_ms = x.until, refusals = refusals + 1 FROM "
            "unnest($1::bigint[], $2::bigint[]) x(number, until) WHERE cron_outbox.number = "
            "x.number",
            late, until);
    });
}

}  // namespace crab::store::postgres
