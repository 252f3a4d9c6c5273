#pragma once

#include "base/result.hpp"
#include "store/postgres/connection.hpp"

#include <cstdint>
#include <string>

namespace crab::store::postgres {

/// A node as it writes: under an incarnation that no other process has.
struct NodeClaim {
    std::int16_t number = 1;
    std::int32_t incarnation = 0;
};

/// Takes the number's next incarnation: whoever had it before writes no admission any more.
Result<NodeClaim> claim_node(Connection& database, std::int16_t number, std::string_view name);

}  // namespace crab::store::postgres
