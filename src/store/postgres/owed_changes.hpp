#pragma once

#include "core/ledger/ledger_store.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace crab::store::postgres {

/// Ends and releases of this process that the database has not taken yet, in their order: sent
/// again until it has. In memory, so they end with the process; then what they are of stays open,
/// and its repeats are told that its outcome is unknown. Not thread-safe.
class OwedChanges {
public:
    static constexpr std::size_t kMost = 65'536, kMostBytes = std::size_t{64} << 20;

    /// One that there is no room for is dropped and counted. False: dropped.
    bool add(core::LedgerEnd end);
    bool add(core::LedgerRelease release);

    bool empty() const { return waiting_.empty(); }
    std::size_t size() const { return waiting_.size(); }
    std::uint64_t dropped() const { return dropped_; }
    /// The oldest, `most` and a part of kMostBytes at most, but one at least.
    std::vector<core::LedgerChange> oldest(std::size_t most) const;
    /// They are written, or cannot be.
    void remove_oldest(std::size_t count);

private:
    bool add(core::LedgerChange change, std::size_t bytes);

    std::deque<std::pair<core::LedgerChange, std::size_t>> waiting_;  ///< with their bytes
    std::size_t bytes_ = 0;
    std::uint64_t dropped_ = 0;
};

}  // namespace crab::store::postgres
