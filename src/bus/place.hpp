#pragma once

#include <compare>
#include <cstdint>

namespace crab::bus {

/// One event loop of one process of a node. A node that starts again has another boot, so mail for
/// its earlier incarnation finds nobody.
struct Place {
    std::uint16_t node = 0;  ///< 1 to 4095; 0: none
    std::uint8_t loop = 0;   ///< 0 to 63
    std::uint32_t boot = 0;  ///< random, never 0

    friend auto operator<=>(const Place&, const Place&) = default;
};

/// One process of a node.
struct Process {
    std::uint16_t node = 0;
    std::uint32_t boot = 0;

    friend auto operator<=>(const Process&, const Process&) = default;
};
inline Process process_of(const Place& place) { return {place.node, place.boot}; }

}  // namespace crab::bus
