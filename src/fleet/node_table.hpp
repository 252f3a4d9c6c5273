#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <vector>

namespace crab::fleet {

enum class NodeState : std::uint8_t { kLive, kDraining, kFenced, kLeft };

/// A node under one of its incarnations.
struct NodeName {
    std::uint16_t number = 0;
    std::uint32_t incarnation = 0;
    friend bool operator==(const NodeName&, const NodeName&) = default;
};

struct NodeRow {
    NodeName name;
    NodeState state = NodeState::kLive;
    std::uint32_t boot = 0;
    std::uint64_t beats = 0;

    bool lives() const { return state == NodeState::kLive || state == NodeState::kDraining; }
};

/// The nodes of a fleet, in its database; a row is never removed. All functions may block (call
/// them on BlockingPool) and are thread-safe. Errors: kUnavailable while the database is away.
class NodeTable {
public:
    virtual ~NodeTable() = default;
    /// Begins the number's next incarnation: nobody writes under the earlier one any more.
    virtual Result<NodeName> begin(std::uint16_t number, std::uint32_t boot) = 0;
    /// Raises `beats`; false: that incarnation was fenced off.
    virtual Result<bool> renew(NodeName self) = 0;
    virtual Result<std::vector<NodeRow>> read() = 0;
    /// Fences the incarnation off if it lives and its `beats` are these. Returns whether it did.
    virtual Result<bool> fence(NodeName other, std::uint64_t beats) = 0;
    /// That incarnation has ended what it ran, and writes nothing any more.
    virtual Result<void> leave(NodeName self) = 0;
};

}  // namespace crab::fleet
