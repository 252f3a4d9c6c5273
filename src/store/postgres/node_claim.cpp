#include "store/postgres/node_claim.hpp"

#include <fmt/format.h>

namespace crab::store::postgres {

Result<NodeClaim> claim_node(Connection& database, std::int16_t number, std::string_view name) {
    auto rows = database.query(
        "INSERT INTO node (number, incarnation, name, state) VALUES ($1, 1, $2, 'live') "
        "ON CONFLICT (number) DO UPDATE SET incarnation = node.incarnation + 1, name = $2, "
        "state = 'live' RETURNING incarnation",
        number, name);
    if (!rows) return fail(std::move(rows.error()));
    return NodeClaim{.number = number,
                     .incarnation = static_cast<std::int32_t>((*rows)[0].integer(0))};
}

// Two that come at once try for the same number: the later one waits for the lock of the table.
Result<std::int16_t> node_number(Connection& database, std::string_view name) {
    return database.transaction([&]() -> Result<std::int16_t> {
        if (auto locked = database.execute("LOCK TABLE node IN SHARE ROW EXCLUSIVE MODE"); !locked)
            return fail(std::move(locked.error()));
        auto known = database.query("SELECT min(number) FROM node WHERE name = $1", name);
        if (!known) return fail(std::move(known.error()));
        if (!(*known)[0].is_null(0)) return static_cast<std::int16_t>((*known)[0].integer(0));
        auto made = database.query(
            "INSERT INTO node (number, incarnation, name, state) SELECT n, 0, $1, 'left' FROM "
            "generate_series(1, 4095) n WHERE n NOT IN (SELECT number FROM node) ORDER BY n LIMIT "
            "1 RETURNING number",
            name);
        if (!made) return fail(std::move(made.error()));
        if (made->count() == 1) return static_cast<std::int16_t>((*made)[0].integer(0));
        return fail(ErrorCode::kConflict, "the fleet has 4095 nodes, and no number is left");
    });
}

std::string is_abandoned(std::string_view table, int node_place, int boot_place) {
    return fmt::format(
        "({0}.node IS DISTINCT FROM ${1} OR {0}.boot IS DISTINCT FROM ${2}) AND NOT EXISTS (SELECT "
        "FROM node WHERE node.number = {0}.node AND node.boot = {0}.boot AND node.state IN "
        "('live', 'draining'))",
        table, node_place, boot_place);
}

NodeRights alone(NodeClaim claim) {
    return {.self = [claim] { return claim; }, .is_silent = [](NodeClaim) { return true; }};
}

}  // namespace crab::store::postgres
