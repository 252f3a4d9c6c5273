#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "store/postgres/connection.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace crab::store::postgres {

/// A node as it writes: under an incarnation that no other process has.
struct NodeClaim {
    std::int16_t number = 1;
    std::int32_t incarnation = 0;
    friend bool operator==(const NodeClaim&, const NodeClaim&) = default;
};

/// A process of a node: what it runs goes on when it was fenced off, under another incarnation.
struct NodeProcess {
    std::int16_t number = 1;
    std::int64_t boot = 0;
};

/// As a condition on a row with `node` and `boot`: neither this process, whose two numbers are the
/// parameters of these places, nor another that runs has begun it. It may have been by a process
/// that is fenced off and goes on later; what that one writes of it has to be refused.
std::string is_abandoned(std::string_view table, int node_place, int boot_place);

/// First half of the advisory lock that the session of a running node holds; the second is of its
/// name.
inline constexpr std::int32_t kNodeLock = 0x63726162;

/// Takes the number's next incarnation: whoever had it before writes no admission and no end any
/// more.
Result<NodeClaim> claim_node(Connection& database, std::int16_t number, std::string_view name);

/// The number of the node of that name: its own for as long as the database is, the lowest free one
/// at first. Errors: those of Connection; kConflict when all numbers are taken.
Result<std::int16_t> node_number(Connection& database, std::string_view name);

/// What a process may write, and what it may take over. Its functions are called on any thread.
struct NodeRights {
    std::function<NodeClaim()> self;
    /// Whether that incarnation, which is not `self`, runs nothing any more
    std::function<bool(NodeClaim)> is_silent;
    /// How long ends wait for a next incarnation when this one was fenced off
    Milliseconds patience{0};
};

/// Of a process that is alone: all others are dead.
NodeRights alone(NodeClaim claim);

}  // namespace crab::store::postgres
