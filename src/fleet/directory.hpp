#pragma once

#include "base/task/task.hpp"
#include "bus/place.hpp"
#include "core/call/call.hpp"
#include "core/call/principal.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace crab::fleet {

/// Where a tool is: a link of a device on a loop of a node. It may be stale: who is there says so.
struct Route {
    bus::Place place;
    std::uint64_t connection = 0, epoch = 0;
    std::string tool;  ///< its unique name
    bool streams = false;  ///< its result, which does not pass between nodes
    std::string tenant;  ///< in which the call runs
};

/// Knows which tools are on other nodes. Used on one loop.
class Directory {
public:
    virtual ~Directory() = default;
    /// The route to what the call names, by the newest link of its device; nothing: no other node
    /// has it. On this node too, where it is as its own registry says.
    virtual Task<std::optional<Route>> find(const core::Call& call,
                                            const core::Principal& principal) = 0;
};

}  // namespace crab::fleet
