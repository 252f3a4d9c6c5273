#include "store/sqlite/call_task_store_sqlite.hpp"

#include <array>

namespace crab::store::sqlite {
namespace {

constexpr std::array<std::string_view, 1> kCallTaskSchema{R"(
    CREATE TABLE call_tasks (
        id TEXT PRIMARY KEY,
        tenant TEXT NOT NULL,
        principal TEXT NOT NULL,
        call_id TEXT NOT NULL,
        request TEXT NOT NULL,
        resume TEXT NOT NULL,
        created INTEGER NOT NULL,
        updated INTEGER NOT NULL,
        ended INTEGER NOT NULL,
        status TEXT NOT NULL,
        outcome TEXT NOT NULL,
        bytes INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX call_tasks_of ON call_tasks (principal);
    CREATE INDEX call_tasks_by_time ON call_tasks (created);
)"};

}  // namespace

Result<std::unique_ptr<CallTaskStoreSqlite>> CallTaskStoreSqlite::open(
    const std::filesystem::path& path, DatabaseOptions options) {
    auto database = Database::open(path, options);
    if (!database) return fail(std::move(database.error()));
    if (auto migrated = database->migrate("call_tasks", kCallTaskSchema); !migrated)
        return fail(std::move(migrated.error()));
    return std::unique_ptr<CallTaskStoreSqlite>(new CallTaskStoreSqlite(std::move(*database)));
}

Result<bool> CallTaskStoreSqlite::has_room(const core::CallTask& task, const Limits& limits) {
    auto theirs = database_.query(
        "SELECT count(*), coalesce(sum(bytes), 0) FROM call_tasks WHERE principal = ?",
        task.principal);
    if (!theirs) return fail(std::move(theirs.error()));
    if (const auto row = theirs->step(); !row) return fail(row.error());
    const auto tasks = static_cast<std::size_t>(theirs->integer(0));
    const auto bytes = static_cast<std::size_t>(theirs->integer(1));
    return tasks < limits.tasks && bytes + task.request.size() <= limits.bytes;
}

Result<bool> CallTaskStoreSqlite::add(const core::CallTask& task, const Limits& limits) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<bool> {
        auto room = has_room(task, limits);
        if (!room || !*room) return room;
        auto done = database_.run(
            "INSERT INTO call_tasks (id, tenant, principal, call_id, request, resume, created, "
            "updated, ended, status, outcome, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            task.id, task.tenant, task.principal, task.call_id, task.request, task.resume,
            task.created, task.updated, std::int64_t{task.ended}, task.status, task.outcome,
            static_cast<std::int64_t>(task.request.size() + task.outcome.size()));
        if (!done) return fail(std::move(done.error()));
        return true;
    });
}

Result<std::optional<core::CallTask>> CallTaskStoreSqlite::find(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    auto row = database_.query(
        "SELECT id, tenant, principal, call_id, request, resume, created, updated, ended, status, "
        "outcome FROM call_tasks WHERE id = ?",
        id);
    if (!row) return fail(std::move(row.error()));
    const auto found = row->step();
    if (!found) return fail(found.error());
    if (!*found) return std::nullopt;
    return core::CallTask{.id = row->text(0),
                          .tenant = row->text(1),
                          .principal = row->text(2),
                          .call_id = row->text(3),
                          .request = row->text(4),
                          .resume = row->text(5),
                          .created = row->time(6),
                          .updated = row->time(7),
                          .ended = row->integer(8) != 0,
                          .status = row->text(9),
                          .outcome = row->text(10)};
}

Result<void> CallTaskStoreSqlite::set_resume(std::string_view id, std::string_view resume) {
    const std::scoped_lock lock(mutex_);
    return database_.run("UPDATE call_tasks SET resume = ? WHERE id = ? AND ended = 0", resume, id);
}

Result<void> CallTaskStoreSqlite::cancel(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    return database_.run("UPDATE call_tasks SET request = '' WHERE id = ? AND ended = 0", id);
}

Result<bool> CallTaskStoreSqlite::has_room_for_end(std::string_view id, std::size_t bytes,
                                                   const Limits& limits) {
    if (bytes <= kFewBytes) return true;
    auto theirs = database_.query(
        "SELECT coalesce(sum(bytes), 0) FROM call_tasks WHERE id <> ?1 AND principal = "
        "(SELECT principal FROM call_tasks WHERE id = ?1)",
        id);
    if (!theirs) return fail(std::move(theirs.error()));
    if (const auto row = theirs->step(); !row) return fail(row.error());
    return static_cast<std::size_t>(theirs->integer(0)) + bytes <= limits.bytes_at_end;
}

Result<bool> CallTaskStoreSqlite::end(std::string_view id, std::string_view status,
                                      std::string_view outcome, SystemTime at,
                                      const Limits& limits) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<bool> {
        auto room = has_room_for_end(id, outcome.size(), limits);
        if (!room || !*room) return room;
        auto done = database_.run(
            "UPDATE call_tasks SET ended = 1, request = '', status = ?, outcome = ?, updated = ?, "
            "bytes = ? WHERE id = ? AND ended = 0",
            status, outcome, at, static_cast<std::int64_t>(outcome.size()), id);
        if (!done) return fail(std::move(done.error()));
        return true;
    });
}

Result<void> CallTaskStoreSqlite::remove(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    return database_.run("DELETE FROM call_tasks WHERE id = ?", id);
}

Result<std::uint64_t> CallTaskStoreSqlite::forget(SystemTime before) {
    const std::scoped_lock lock(mutex_);
    auto done = database_.run(
        "DELETE FROM call_tasks WHERE id IN "
        "(SELECT id FROM call_tasks WHERE created < ? LIMIT 1000)",
        before);
    if (!done) return fail(std::move(done.error()));
    return static_cast<std::uint64_t>(database_.changes());
}

}  // namespace crab::store::sqlite
