#include "store/postgres/node_claim.hpp"

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

}  // namespace crab::store::postgres
