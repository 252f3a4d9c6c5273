#pragma once

#include <cstdint>

namespace crab::core {

/// Names one admission: 128 bits that a store never uses twice. How they are made is the store's
/// choice. False: none.
struct LedgerRef {
    std::uint64_t high = 0, low = 0;
    /// Where the store finds it, if it wants to know
    std::uint64_t place_high = 0, place_low = 0;
    explicit operator bool() const { return (high | low) != 0; }
    friend bool operator==(const LedgerRef&, const LedgerRef&) = default;
};

}  // namespace crab::core
