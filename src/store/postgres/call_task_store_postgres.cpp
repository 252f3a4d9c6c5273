#include "store/postgres/call_task_store_postgres.hpp"

namespace crab::store::postgres {
namespace {

/// Two nodes that count what a principal has do it one after the other.
Result<void> lock_principal(Connection& database, std::string_view principal) {
    return database.run("SELECT pg_advisory_xact_lock(hashtextextended('call_task ' || $1, 0))",
                        principal);
}

struct Held {
    std::size_t tasks = 0, bytes = 0;
};

/// Of all tasks of a principal but that one.
Result<Held> held_by(Connection& database, std::string_view principal, std::string_view except) {
    auto rows = database.query(
        "SELECT count(*), coalesce(sum(bytes), 0) FROM call_task WHERE principal = $1 AND id <> $2",
        principal, except);
    if (!rows) return fail(std::move(rows.error()));
    return Held{.tasks = static_cast<std::size_t>((*rows)[0].integer(0)),
                .bytes = static_cast<std::size_t>((*rows)[0].integer(1))};
}

}  // namespace

Result<bool> CallTaskStorePostgres::add(const core::CallTask& task, const Limits& limits) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<bool> {
        if (auto locked = lock_principal(database_, task.principal); !locked)
            return fail(std::move(locked.error()));
        const auto held = held_by(database_, task.principal, "");
        if (!held) return fail(held.error());
        if (held->tasks >= limits.tasks || held->bytes + task.request.size() > limits.bytes)
            return false;
        auto done = database_.run(
            "INSERT INTO call_task (id, tenant, principal, call_id, request, resume, created_ms, "
            "updated_ms, ended, status, outcome, bytes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, "
            "$9, $10, $11, $12)",
            task.id, task.tenant, task.principal, task.call_id, task.request, task.resume,
            task.created, task.updated, task.ended, task.status, task.outcome,
            task.request.size() + task.outcome.size());
        if (!done) return fail(std::move(done.error()));
        return true;
    });
}

Result<std::optional<core::CallTask>> CallTaskStorePostgres::find(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT id, tenant, principal, call_id, request, resume, created_ms, updated_ms, ended, "
        "status, outcome FROM call_task WHERE id = $1",
        id);
    if (!rows) return fail(std::move(rows.error()));
    if (rows->count() == 0) return std::nullopt;
    const auto row = (*rows)[0];
    return core::CallTask{.id = row.text(0),
                          .tenant = row.text(1),
                          .principal = row.text(2),
                          .call_id = row.text(3),
                          .request = row.text(4),
                          .resume = row.text(5),
                          .created = row.time(6),
                          .updated = row.time(7),
                          .ended = row.boolean(8),
                          .status = row.text(9),
                          .outcome = row.text(10)};
}

Result<void> CallTaskStorePostgres::set_resume(std::string_view id, std::string_view resume) {
    const std::scoped_lock lock(mutex_);
    return database_.run("UPDATE call_task SET resume = $1 WHERE id = $2 AND NOT ended", resume,
                         id);
}

Result<void> CallTaskStorePostgres::cancel(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    return database_.run("UPDATE call_task SET request = '' WHERE id = $1 AND NOT ended", id);
}

Result<bool> CallTaskStorePostgres::end(std::string_view id, std::string_view status,
                                        std::string_view outcome, SystemTime at,
                                        const Limits& limits) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<bool> {
        auto whose = database_.query("SELECT principal FROM call_task WHERE id = $1", id);
        if (!whose) return fail(std::move(whose.error()));
        if (whose->count() == 0) return true;
        if (outcome.size() > kFewBytes) {
            const std::string principal = (*whose)[0].text(0);
            if (auto locked = lock_principal(database_, principal); !locked)
                return fail(std::move(locked.error()));
            const auto held = held_by(database_, principal, id);
            if (!held) return fail(held.error());
            if (held->bytes + outcome.size() > limits.bytes_at_end) return false;
        }
        auto done = database_.run(
            "UPDATE call_task SET ended = true, request = '', status = $1, outcome = $2, "
            "updated_ms = $3, bytes = $4 WHERE id = $5 AND NOT ended",
            status, outcome, at, outcome.size(), id);
        if (!done) return fail(std::move(done.error()));
        return true;
    });
}

Result<void> CallTaskStorePostgres::remove(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    return database_.run("DELETE FROM call_task WHERE id = $1", id);
}

Result<std::uint64_t> CallTaskStorePostgres::forget(SystemTime before) {
    const std::scoped_lock lock(mutex_);
    auto done = database_.query(
        "DELETE FROM call_task WHERE id IN (SELECT id FROM call_task WHERE created_ms < $1 LIMIT "
        "1000 FOR UPDATE SKIP LOCKED)",
        before);
    if (!done) return fail(std::move(done.error()));
    return static_cast<std::uint64_t>(done->changed());
}

}  // namespace crab::store::postgres
