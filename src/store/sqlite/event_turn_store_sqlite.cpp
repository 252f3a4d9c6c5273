#include "store/sqlite/event_turn_store_sqlite.hpp"

#include <array>
#include <limits>

#include <fmt/format.h>

namespace crab::store::sqlite {
namespace {

constexpr std::array<std::string_view, 1> kEventTurnSchema{R"(
    CREATE TABLE agent_position (
        agent TEXT PRIMARY KEY,
        position INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE event_turn (
        agent TEXT NOT NULL,
        event_id TEXT NOT NULL,
        turn_id TEXT NOT NULL UNIQUE,
        event_type TEXT NOT NULL,
        session TEXT NOT NULL,
        begun_ms INTEGER NOT NULL,
        ended_ms INTEGER,
        outcome TEXT NOT NULL,
        PRIMARY KEY (agent, event_id)
    ) STRICT;
    CREATE INDEX event_turn_begun ON event_turn (begun_ms);
    CREATE INDEX event_turn_open ON event_turn (begun_ms) WHERE ended_ms IS NULL;
)"};

constexpr std::string_view kEventTurnColumns =
    "turn_id, agent, event_id, event_type, session, begun_ms, ended_ms, outcome";

}  // namespace

Result<std::unique_ptr<EventTurnStoreSqlite>> EventTurnStoreSqlite::open(
    const std::filesystem::path& path, DatabaseOptions options) {
    auto database = Database::open(path, options);
    if (!database) return fail(std::move(database.error()));
    if (auto migrated = database->migrate("event_turns", kEventTurnSchema); !migrated)
        return fail(std::move(migrated.error()));
    return std::unique_ptr<EventTurnStoreSqlite>(new EventTurnStoreSqlite(std::move(*database)));
}

Result<std::optional<core::EventPosition>> EventTurnStoreSqlite::position(std::string_view agent) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query("SELECT position FROM agent_position WHERE agent = ?", agent);
    if (!rows) return fail(std::move(rows.error()));
    const auto row = rows->step();
    if (!row) return fail(row.error());
    if (!*row) return std::nullopt;
    return core::EventPosition{rows->integer(0)};
}

Result<void> EventTurnStoreSqlite::set_position(std::string_view agent,
                                                core::EventPosition position) {
    return database_.run(
        "INSERT INTO agent_position (agent, position) VALUES (?1, ?2) ON CONFLICT (agent) DO "
        "UPDATE SET position = ?2",
        agent, std::int64_t{position});
}

Result<void> EventTurnStoreSqlite::advance(std::string_view agent, core::EventPosition position) {
    const std::scoped_lock lock(mutex_);
    return set_position(agent, position);
}

Result<bool> EventTurnStoreSqlite::claim(const core::EventTurn& turn,
                                         core::EventPosition position) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<bool> {
        if (auto moved = set_position(turn.agent, position); !moved)
            return fail(std::move(moved.error()));
        auto claimed = database_.run(
            "INSERT INTO event_turn (turn_id, agent, event_id, event_type, session, begun_ms, "
            "outcome) VALUES (?, ?, ?, ?, ?, ?, '')"
            " ON CONFLICT (agent, event_id) DO NOTHING",
            turn.turn_id, turn.agent, turn.event_id, turn.event_type, turn.session.text(),
            turn.begun);
        if (!claimed) return fail(std::move(claimed.error()));
        return database_.changes() != 0;
    });
}

Result<void> EventTurnStoreSqlite::finish(std::string_view turn_id, std::string_view end,
                                          SystemTime at) {
    const std::scoped_lock lock(mutex_);
    return database_.run(
        "UPDATE event_turn SET ended_ms = ?, outcome = ? WHERE turn_id = ? AND ended_ms IS NULL",
        at, end, turn_id);
}

Result<std::vector<core::EventTurn>> EventTurnStoreSqlite::read(Result<Statement> rows) {
    if (!rows) return fail(std::move(rows.error()));
    std::vector<core::EventTurn> turns;
    for (;;) {
        const auto more = rows->step();
        if (!more) return fail(more.error());
        if (!*more) return turns;
        turns.push_back({.turn_id = rows->text(0),
                         .agent = rows->text(1),
                         .event_id = rows->text(2),
                         .event_type = rows->text(3),
                         .session = ChatSessionId(rows->text(4)),
                         .begun = rows->time(5),
                         .ended = rows->optional_time(6),
                         .end = rows->text(7)});
    }
}

Result<std::vector<core::EventTurn>> EventTurnStoreSqlite::open_turns() {
    const std::scoped_lock lock(mutex_);
    return read(database_.query(fmt::format(
        "SELECT {} FROM event_turn WHERE ended_ms IS NULL ORDER BY begun_ms", kEventTurnColumns)));
}

Result<std::vector<core::EventTurn>> EventTurnStoreSqlite::latest(std::size_t most) {
    const std::scoped_lock lock(mutex_);
    const auto limit = static_cast<std::int64_t>(
        std::min(most, std::size_t{std::numeric_limits<std::int32_t>::max()}));
    return read(database_.query(
        fmt::format("SELECT {} FROM event_turn ORDER BY begun_ms DESC, turn_id DESC LIMIT ?",
                    kEventTurnColumns),
        limit));
}

Result<void> EventTurnStoreSqlite::forget(SystemTime ended_before) {
    const std::scoped_lock lock(mutex_);
    return database_.run("DELETE FROM event_turn WHERE ended_ms < ?", ended_before);
}

}  // namespace crab::store::sqlite
