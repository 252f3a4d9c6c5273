#include "store/postgres/node_table_postgres.hpp"

#include <string>
#include <string_view>

namespace crab::store::postgres {
namespace {

using fleet::NodeName;
using fleet::NodeRow;
using fleet::NodeState;

NodeState state_of(std::string_view text) {
    if (text == "live") return NodeState::kLive;
    if (text == "draining") return NodeState::kDraining;
    if (text == "left") return NodeState::kLeft;
    return NodeState::kFenced;
}

}  // namespace

Result<NodeName> NodeTablePostgres::begin(std::uint16_t number, std::uint32_t boot) {
    const std::scoped_lock lock(mutex_);
    // The first time whoever had the number is dead, or it would hold the lock of its name; so are
    // its keys.
    auto rows = database_.query(
        "UPDATE node SET incarnation = incarnation + 1, state = 'live', boot = $2, "
        "beats = beats + 1, keys = CASE WHEN $3 THEN '' ELSE keys END WHERE number = $1 AND ($3 OR "
        "boot = $2) RETURNING incarnation",
        number, boot, !boot_);
    if (!rows) return fail(std::move(rows.error()));
    if (rows->count() != 1)
        return fail(ErrorCode::kConflict,
                    "another process runs as this node of the fleet: end one of the two");
    boot_ = boot;
    return NodeName{.number = number,
                    .incarnation = static_cast<std::uint32_t>((*rows)[0].integer(0))};
}

Result<bool> NodeTablePostgres::renew(NodeName self) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "UPDATE node SET beats = beats + 1 WHERE number = $1 AND incarnation = $2 AND state IN "
        "('live', 'draining')",
        self.number, self.incarnation);
    if (!rows) return fail(std::move(rows.error()));
    return rows->changed() == 1;
}

Result<std::vector<NodeRow>> NodeTablePostgres::read() {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query("SELECT number, incarnation, state, boot, beats FROM node");
    if (!rows) return fail(std::move(rows.error()));
    std::vector<NodeRow> nodes;
    for (const auto row : *rows)
        nodes.push_back({.name = {.number = static_cast<std::uint16_t>(row.integer(0)),
                                  .incarnation = static_cast<std::uint32_t>(row.integer(1))},
                         .state = state_of(row.text_view(2)),
                         .boot = static_cast<std::uint32_t>(row.integer(3)),
                         .beats = static_cast<std::uint64_t>(row.integer(4))});
    return nodes;
}

Result<bool> NodeTablePostgres::fence(NodeName other, std::uint64_t beats) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "UPDATE node SET state = 'fenced' WHERE number = $1 AND incarnation = $2 AND beats = $3 "
        "AND state IN ('live', 'draining')",
        other.number, other.incarnation, beats);
    if (!rows) return fail(std::move(rows.error()));
    return rows->changed() == 1;
}

Result<void> NodeTablePostgres::leave(NodeName self) {
    const std::scoped_lock lock(mutex_);
    return database_.run(
        "UPDATE node SET state = 'left' WHERE number = $1 AND incarnation = $2 AND state IN "
        "('live', 'draining')",
        self.number, self.incarnation);
}

}  // namespace crab::store::postgres
