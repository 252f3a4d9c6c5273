#pragma once

#include "base/result.hpp"
#include "bus/place.hpp"
#include "fleet/node_table.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace crab::fleet {

/// A live connection of a device, with its tools.
struct Link {
    bus::Process process;  ///< where it is
    std::uint64_t connection = 0;
    /// Grows with each registration in the fleet, and stays that of the connection; 0: not claimed
    std::uint64_t epoch = 0;
    std::string source;  ///< ToolSource::name, prefix of its tools' names
    std::string tools;  ///< as link_tools_to_wire() writes them
};

/// The links of a fleet, in its database. All functions may block and are thread-safe. Errors:
/// kUnavailable while the database is away.
class LinkTable {
public:
    virtual ~LinkTable() = default;
    /// Makes these all the links of a node: `changed` are written, and `kept`, connections, stay as
    /// this incarnation has claimed them. Returns the epochs of `changed`, in order: those without
    /// one get one. Errors: kConflict when that incarnation was fenced off, kNotFound when one of
    /// `kept` is not there; nothing is changed then.
    virtual Result<std::vector<std::uint64_t>> claim(NodeName self,
                                                     const std::vector<Link>& changed,
                                                     const std::vector<std::uint64_t>& kept) = 0;
    /// Changes with every change of links that count: those of nodes that live.
    virtual Result<std::string> version() = 0;
    /// All that count, but those of one node, by ascending epoch.
    virtual Result<std::vector<Link>> read(std::uint16_t but_of) = 0;
};

}  // namespace crab::fleet
