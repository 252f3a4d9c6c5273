#include "store/sqlite/cron_store_sqlite.hpp"

#include "crypto/digest.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace crab::store::sqlite {
namespace {

constexpr std::array<std::string_view, 1> kCronSchema{R"(
    CREATE TABLE cron_job (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        tenant TEXT NOT NULL,
        job_id TEXT NOT NULL,
        name TEXT NOT NULL,
        schedule TEXT NOT NULL,
        timezone TEXT NOT NULL,
        event_type TEXT NOT NULL,
        agent_id TEXT NOT NULL,
        session_id TEXT NOT NULL,
        isolation_key TEXT NOT NULL,
        input TEXT NOT NULL,
        missed_ticks TEXT NOT NULL,
        enabled INTEGER NOT NULL,
        created_ms INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL,
        next_run_ms INTEGER NOT NULL,
        last_run_ms INTEGER,
        wake_ms INTEGER NOT NULL,
        decided_ms INTEGER NOT NULL,
        UNIQUE (tenant, job_id)
    ) STRICT;
    CREATE INDEX cron_job_wake ON cron_job (wake_ms, number) WHERE enabled = 1;
    CREATE TABLE cron_outbox (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        job INTEGER NOT NULL,
        envelope TEXT NOT NULL,
        refusals INTEGER NOT NULL DEFAULT 0,
        retry_ms INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX cron_outbox_retry ON cron_outbox (retry_ms, number);
    CREATE INDEX cron_outbox_job ON cron_outbox (job);
    CREATE TABLE cron_request (
        tenant TEXT NOT NULL,
        principal TEXT NOT NULL,
        key TEXT NOT NULL,
        content BLOB NOT NULL,
        operation_id TEXT NOT NULL,
        job_id TEXT NOT NULL,
        session_id TEXT NOT NULL,
        next_run_ms INTEGER NOT NULL,
        made_ms INTEGER NOT NULL,
        PRIMARY KEY (tenant, principal, key)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX cron_request_made ON cron_request (made_ms);
)"};

constexpr std::string_view kJobColumns =
    "job_id, name, schedule, timezone, event_type, tenant, agent_id, session_id, isolation_key, "
    "input, missed_ticks, enabled, created_ms, updated_ms, next_run_ms, last_run_ms";

/// From the columns kJobColumns, which begin at 0.
cron::CronJob job_of(const Statement& row) {
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
            .enabled = row.integer(11) != 0,
            .created_at = row.time(12),
            .updated_at = row.time(13),
            .next_run_at = row.time(14),
            .last_run_at = row.optional_time(15)};
}

/// Reads `row` for every row of the statement until it says false.
template <class Row>
Result<void> for_each(Result<Statement> statement, Row row) {
    if (!statement) return fail(std::move(statement.error()));
    for (;;) {
        const auto more = statement->step();
        if (!more) return fail(more.error());
        if (!*more || !row(*statement)) return {};
    }
}

}  // namespace

/// What is kept of a request; the rest of a created job is in its repeat, which is equal.
struct CronStoreSqlite::Known {
    std::string operation_id, job_id, session_id;
    SystemTime next_run_at, made_at;
};

Result<std::unique_ptr<CronStoreSqlite>> CronStoreSqlite::open(const std::filesystem::path& path,
                                                               DatabaseOptions options) {
    auto database = Database::open(path, options);
    if (!database) return fail(std::move(database.error()));
    if (auto migrated = database->migrate("cron", kCronSchema); !migrated)
        return fail(std::move(migrated.error()));
    return std::unique_ptr<CronStoreSqlite>(new CronStoreSqlite(std::move(*database)));
}

/// The first request under this key, if it is a day old at most. Errors: kConflict when that asked
/// for something else.
Result<std::optional<CronStoreSqlite::Known>> CronStoreSqlite::find_request(
    const cron::CronRequest& request) {
    std::optional<Known> known;
    bool equal = true;
    const auto digest = crypto::sha256(request.content);
    auto read =
        for_each(database_.query("SELECT content, operation_id, job_id, session_id, next_run_ms, "
                                 "made_ms FROM cron_request"
                                 " WHERE tenant = ? AND principal = ? AND key = ? AND made_ms > ?",
                                 request.tenant.text(), request.principal, request.key,
                                 request.at - cron::kKeepRequests),
                 [&](const Statement& row) {
                     equal = std::ranges::equal(row.bytes(0), digest);
                     known = Known{.operation_id = row.text(1),
                                   .job_id = row.text(2),
                                   .session_id = row.text(3),
                                   .next_run_at = row.time(4),
                                   .made_at = row.time(5)};
                     return false;
                 });
    if (!read) return fail(std::move(read.error()));
    if (!equal)
        return fail(
            ErrorCode::kConflict,
            "this idempotency key or call id was used for another change of jobs; use a new one");
    return known;
}

Result<void> CronStoreSqlite::keep_request(const cron::CronRequest& request,
                                           const cron::CronJob& job) {
    auto pruned = database_.run("DELETE FROM cron_request WHERE made_ms <= ?",
                                request.at - cron::kKeepRequests);
    if (!pruned) return pruned;
    const auto digest = crypto::sha256(request.content);
    return database_.run(
        "INSERT INTO cron_request (tenant, principal, key, content, operation_id, job_id, "
        "session_id, next_run_ms, made_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        request.tenant.text(), request.principal, request.key,
        std::span<const std::uint8_t>(digest), request.operation_id, job.job_id, job.session_id,
        job.next_run_at, request.at);
}

Result<cron::CronCreated> CronStoreSqlite::create(const cron::CronRequest& request,
                                                  const cron::CronJob& job, std::size_t most_jobs) {
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
        std::int64_t count = 0;
        auto counted = for_each(
            database_.query("SELECT count(*) FROM cron_job WHERE tenant = ?", job.tenant.text()),
            [&](const Statement& row) {
                count = row.integer(0);
                return false;
            });
        if (!counted) return fail(std::move(counted.error()));
        if (count >= static_cast<std::int64_t>(most_jobs)) {
            return fail(Error{
                .code = ErrorCode::kRateLimited,
                .message = fmt::format("a tenant has at most {} jobs; remove one first", most_jobs),
                .details = {},
                .retryable = false,
                .retry_after = {}});
        }
        auto inserted = database_.run(
            "INSERT INTO cron_job (tenant, job_id, name, schedule, timezone, event_type, agent_id, "
            "session_id, isolation_key, input, missed_ticks, enabled, created_ms,"
            " updated_ms, next_run_ms, last_run_ms, wake_ms, decided_ms) VALUES (?1, ?2, ?3, ?4, "
            "?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?15, ?13)",
            job.tenant.text(), job.job_id, job.name, job.schedule, job.timezone,
            cron::name_of(job.event_type), job.agent_id, job.session_id, job.isolation_key,
            job.input, cron::name_of(job.missed_ticks), std::int64_t{job.enabled}, job.created_at,
            job.updated_at, job.next_run_at, job.last_run_at);
        if (!inserted) return fail(std::move(inserted.error()));
        if (auto kept = keep_request(request, job); !kept) return fail(std::move(kept.error()));
        return created;
    });
}

Result<std::string> CronStoreSqlite::remove(const cron::CronRequest& request,
                                            std::string_view job_id) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<std::string> {
        auto known = find_request(request);
        if (!known) return fail(std::move(known.error()));
        if (*known) return (*known)->operation_id;
        auto removed = database_.run("DELETE FROM cron_job WHERE tenant = ? AND job_id = ?",
                                     request.tenant.text(), job_id);
        if (!removed) return fail(std::move(removed.error()));
        if (database_.changes() == 0) return fail(ErrorCode::kInvalidArgs, "job not found");
        cron::CronJob gone;
        gone.job_id = job_id;
        if (auto kept = keep_request(request, gone); !kept) return fail(std::move(kept.error()));
        return request.operation_id;
    });
}

Result<cron::CronPage> CronStoreSqlite::list(const TenantId& tenant, std::string_view after,
                                             std::size_t limit, std::size_t max_bytes) {
    const std::scoped_lock lock(mutex_);
    cron::CronPage page;
    std::size_t bytes = 0;
    auto read = for_each(
        database_.query(
            fmt::format("SELECT {} FROM cron_job WHERE tenant = ? AND job_id > ? ORDER BY job_id",
                        kJobColumns),
            tenant.text(), after),
        [&](const Statement& row) {
            page.more = page.jobs.size() == limit || bytes > max_bytes;
            if (page.more) return false;
            page.jobs.push_back(job_of(row));
            bytes += 512 + page.jobs.back().name.size() + page.jobs.back().input.size();
            return true;
        });
    if (!read) return fail(std::move(read.error()));
    return page;
}

Result<std::vector<cron::DueJob>> CronStoreSqlite::jobs_where(std::string_view condition,
                                                              SystemTime time, std::size_t limit) {
    const std::scoped_lock lock(mutex_);
    std::vector<cron::DueJob> jobs;
    const std::string sql = fmt::format(
        "SELECT {}, number, (SELECT count(*) FROM cron_outbox WHERE job = cron_job.number) FROM "
        "cron_job WHERE enabled = 1 AND {} LIMIT ?",
        kJobColumns, condition);
    auto read = for_each(
        database_.query(sql, time, static_cast<std::int64_t>(limit)), [&](const Statement& row) {
            jobs.push_back({.number = row.integer(16),
                            .job = job_of(row),
                            .unpublished = static_cast<std::uint64_t>(row.integer(17))});
            return true;
        });
    if (!read) return fail(std::move(read.error()));
    return jobs;
}

Result<std::vector<cron::DueJob>> CronStoreSqlite::due(SystemTime now, std::size_t limit) {
    return jobs_where("wake_ms <= ? ORDER BY wake_ms, number", now, limit);
}

Result<std::vector<cron::DueJob>> CronStoreSqlite::decided_after(SystemTime time,
                                                                 std::size_t limit) {
    return jobs_where("decided_ms > ?", time, limit);
}

/// The first column of the first row, if there is one and it is not null.
Result<std::optional<SystemTime>> CronStoreSqlite::find_time(std::string_view sql) {
    const std::scoped_lock lock(mutex_);
    std::optional<SystemTime> time;
    auto read = for_each(database_.query(sql), [&](const Statement& row) {
        time = row.optional_time(0);
        return false;
    });
    if (!read) return fail(std::move(read.error()));
    return time;
}

Result<std::optional<SystemTime>> CronStoreSqlite::next_wake() {
    return find_time("SELECT min(wake_ms) FROM cron_job WHERE enabled = 1");
}

Result<std::optional<SystemTime>> CronStoreSqlite::next_publish() {
    return find_time("SELECT min(retry_ms) FROM cron_outbox");
}

Result<std::size_t> CronStoreSqlite::fire(std::span<const cron::CronFiring> firings) {
    const std::scoped_lock lock(mutex_);
    // A job that somebody removed meanwhile is not there, and fires nothing.
    auto update = database_.prepare(
        "UPDATE cron_job SET next_run_ms = ?, wake_ms = ?, decided_ms = ?, last_run_ms = "
        "coalesce(?, last_run_ms) WHERE number = ? AND next_run_ms = ?");
    auto insert = database_.prepare("INSERT INTO cron_outbox (job, envelope) VALUES (?, ?)");
    if (!update) return fail(std::move(update.error()));
    if (!insert) return fail(std::move(insert.error()));
    return database_.transaction([&]() -> Result<std::size_t> {
        std::size_t events = 0;
        for (const cron::CronFiring& firing : firings) {
            const auto stored = fire_one(firing, *update, *insert);
            if (!stored) return fail(stored.error());
            events += *stored;
        }
        return events;
    });
}

Result<std::size_t> CronStoreSqlite::fire_one(const cron::CronFiring& firing, Statement& update,
                                              Statement& insert) {
    const std::optional<SystemTime> last_run =
        firing.envelopes.empty() ? std::nullopt : std::optional(firing.decided_at);
    auto updated = update
                       .bind(firing.next_run_at, firing.wake_at, firing.decided_at, last_run,
                             firing.number, firing.was_due)
                       .run();
    if (!updated) return fail(std::move(updated.error()));
    if (database_.changes() == 0) return 0;
    for (const std::string& envelope : firing.envelopes) {
        if (auto inserted = insert.bind(firing.number, envelope).run(); !inserted)
            return fail(std::move(inserted.error()));
    }
    return firing.envelopes.size();
}

Result<std::vector<cron::UnpublishedEvent>> CronStoreSqlite::unpublished(SystemTime now,
                                                                         std::size_t limit) {
    const std::scoped_lock lock(mutex_);
    std::vector<cron::UnpublishedEvent> events;
    auto read =
        for_each(database_.query("SELECT number, refusals, envelope FROM cron_outbox WHERE "
                                 "retry_ms <= ? ORDER BY retry_ms, number LIMIT ?",
                                 now, static_cast<std::int64_t>(limit)),
                 [&](const Statement& row) {
                     events.push_back({.number = row.integer(0),
                                       .refusals = static_cast<std::uint32_t>(row.integer(1)),
                                       .envelope = row.text(2)});
                     return true;
                 });
    if (!read) return fail(std::move(read.error()));
    return events;
}

Result<void> CronStoreSqlite::settle(std::span<const std::int64_t> accepted,
                                     std::span<const cron::EventDelay> refused) {
    const std::scoped_lock lock(mutex_);
    auto erase = database_.prepare("DELETE FROM cron_outbox WHERE number = ?");
    auto delay = database_.prepare(
        "UPDATE cron_outbox SET retry_ms = ?, refusals = refusals + 1 WHERE number = ?");
    if (!erase) return fail(std::move(erase.error()));
    if (!delay) return fail(std::move(delay.error()));
    return database_.transaction([&]() -> Result<void> {
        for (const std::int64_t number : accepted) {
            if (auto erased = erase->bind(number).run(); !erased) return erased;
        }
        for (const cron::EventDelay& event : refused) {
            if (auto delayed = delay->bind(event.until, event.number).run(); !delayed)
                return delayed;
        }
        return {};
    });
}

}  // namespace crab::store::sqlite
