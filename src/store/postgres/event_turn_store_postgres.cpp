#include "store/postgres/event_turn_store_postgres.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace crab::store::postgres {
namespace {

constexpr std::string_view kTurnColumns =
    "turn_id, agent, event_id, event_type, session, begun_ms, ended_ms, outcome";

Result<std::vector<core::EventTurn>> turns_of(Result<Rows> rows) {
    if (!rows) return fail(std::move(rows.error()));
    std::vector<core::EventTurn> turns;
    for (const auto row : *rows)
        turns.push_back({.turn_id = row.text(0),
                         .agent = row.text(1),
                         .event_id = row.text(2),
                         .event_type = row.text(3),
                         .session = ChatSessionId(row.text(4)),
                         .begun = row.time(5),
                         .ended = row.optional_time(6),
                         .end = row.text(7)});
    return turns;
}

}  // namespace

/// One that is fenced off takes nothing, and keeps what nobody else has taken.
Result<bool> EventTurnStorePostgres::hold(std::string_view agent) {
    if (!self_) return true;
    const std::scoped_lock lock(mutex_);
    static const std::string kTake = fmt::format(
        "INSERT INTO job_lease (job, node, boot, token) SELECT 'agent ' || $1, number, boot, 1 "
        "FROM node WHERE number = $2 AND boot = $3 AND state IN ('live', 'draining') ON CONFLICT "
        "(job) DO UPDATE SET node = excluded.node, boot = excluded.boot, token = job_lease.token + "
        "1 WHERE {}",
        is_abandoned("job_lease", 2, 3));
    auto taken = database_.query(kTake, agent, self_->number, self_->boot);
    if (!taken) return fail(std::move(taken.error()));
    if (taken->changed() == 1) return true;
    auto held = expect_held(agent);
    if (held) return true;
    if (held.error().code == ErrorCode::kConflict) return false;
    return fail(std::move(held.error()));
}

Result<void> EventTurnStorePostgres::expect_held(std::string_view agent) {
    if (!self_) return {};
    auto rows = database_.query(
        "SELECT FROM job_lease WHERE job = 'agent ' || $1 AND node = $2 AND boot = $3 FOR SHARE",
        agent, self_->number, self_->boot);
    if (!rows) return fail(std::move(rows.error()));
    if (rows->count() == 1) return {};
    return fail(ErrorCode::kConflict, "another node of the fleet has this agent");
}

Result<std::optional<core::EventPosition>> EventTurnStorePostgres::position(
    std::string_view agent) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query("SELECT position FROM agent_position WHERE agent = $1", agent);
    if (!rows) return fail(std::move(rows.error()));
    if (rows->count() == 0) return std::nullopt;
    return core::EventPosition{(*rows)[0].integer(0)};
}

Result<void> EventTurnStorePostgres::set_position(std::string_view agent,
                                                  core::EventPosition position) {
    return database_.run(
        "INSERT INTO agent_position (agent, position) VALUES ($1, $2) ON CONFLICT (agent) DO "
        "UPDATE SET position = $2",
        agent, std::int64_t{position});
}

Result<void> EventTurnStorePostgres::advance(std::string_view agent, core::EventPosition position) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        if (auto held = expect_held(agent); !held) return held;
        return set_position(agent, position);
    });
}

Result<bool> EventTurnStorePostgres::claim(const core::EventTurn& turn,
                                           core::EventPosition position) {
    const auto node = self_ ? std::optional(self_->number) : std::nullopt;
    const auto boot = self_ ? std::optional(self_->boot) : std::nullopt;
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<bool> {
        if (auto held = expect_held(turn.agent); !held) return fail(std::move(held.error()));
        if (auto moved = set_position(turn.agent, position); !moved)
            return fail(std::move(moved.error()));
        auto claimed = database_.query(
            "INSERT INTO event_turn (turn_id, agent, event_id, event_type, session, begun_ms, "
            "outcome, node, boot) VALUES ($1, $2, $3, $4, $5, $6, '', $7, $8) ON CONFLICT (agent, "
            "event_id) DO NOTHING",
            turn.turn_id, turn.agent, turn.event_id, turn.event_type, turn.session.text(),
            turn.begun, node, boot);
        if (!claimed) return fail(std::move(claimed.error()));
        return claimed->changed() != 0;
    });
}

Result<void> EventTurnStorePostgres::finish(std::string_view turn_id, std::string_view end,
                                            SystemTime at) {
    const std::scoped_lock lock(mutex_);
    return database_.run(
        "UPDATE event_turn SET ended_ms = $1, outcome = $2 WHERE turn_id = $3 AND ended_ms IS NULL",
        at, end, turn_id);
}

Result<std::vector<core::EventTurn>> EventTurnStorePostgres::open_turns() {
    const std::scoped_lock lock(mutex_);
    const std::string open =
        fmt::format("SELECT {} FROM event_turn WHERE ended_ms IS NULL", kTurnColumns);
    if (!self_) return turns_of(database_.query(open + " ORDER BY begun_ms"));
    return turns_of(database_.query(
        fmt::format("{} AND {} ORDER BY begun_ms", open, is_abandoned("event_turn", 1, 2)),
        self_->number, self_->boot));
}

Result<std::vector<core::EventTurn>> EventTurnStorePostgres::latest(std::size_t most) {
    const std::scoped_lock lock(mutex_);
    const auto limit = static_cast<std::int64_t>(
        std::min(most, std::size_t{std::numeric_limits<std::int32_t>::max()}));
    return turns_of(
        database_.query(fmt::format("SELECT {} FROM event_turn ORDER BY begun_ms DESC, turn_id "
                                    "COLLATE \"C\" DESC LIMIT $1",
                                    kTurnColumns),
                        limit));
}

Result<void> EventTurnStorePostgres::forget(SystemTime ended_before) {
    const std::scoped_lock lock(mutex_);
    return database_.run("DELETE FROM event_turn WHERE ended_ms < $1", ended_before);
}

}  // namespace crab::store::postgres
