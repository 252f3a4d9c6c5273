#pragma once

#include "base/clock.hpp"
#include "core/call/tool_result.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

namespace crab::core {

/// Outcomes in the order in which they came, in one piece of memory that is written round and
/// round: keeping one more costs a copy, no allocation, and drops the oldest. Outcomes too large
/// for that are held on the heap, which counts as well. Not thread-safe.
class OutcomeRing {
public:
    /// Called with the two halves of a dropped outcome's key.
    using Dropped = std::function<void(std::uint64_t high, std::uint64_t low)>;
    /// `capacity_bytes`: of all that is kept, half of it in one piece, half of it for large
    /// outcomes.
    OutcomeRing(std::size_t capacity_bytes, Dropped dropped);

    /// An outcome and how long its call took.
    struct Kept {
        std::shared_ptr<const Outcome> outcome;
        std::chrono::nanoseconds duration{0};
    };
    /// Keeps `ended` until `until` at most; returns its place. Older ones are dropped to make room.
    /// Nothing: it is larger than all that may be kept.
    std::optional<std::uint64_t> add(std::uint64_t high, std::uint64_t low, const Kept& ended,
                                     SteadyTime until);
    /// What was kept at a place that add() returned and that was not dropped.
    Kept get(std::uint64_t place) const;
    /// Drops what was to be kept until `now` at most.
    void expire(SteadyTime now);
    /// The `low` half of the key that a full ring will drop next; nothing when there is none, or
    /// the next is the memory's end.
    std::optional<std::uint64_t> next_to_drop() const;

private:
    struct Header;
    Header header_at(std::uint64_t place) const;
    void drop_oldest();
    void prefetch(std::uint64_t place) const;

    const std::size_t capacity_;
    const Dropped dropped_;
    std::unique_ptr<char[]> bytes_;  ///< made with the first outcome
    /// Positions that only grow; the place in `bytes_` is the rest by `capacity_`
    std::uint64_t head_ = 0, tail_ = 0;
    std::size_t large_bytes_ = 0;
    std::unordered_map<std::uint64_t, std::shared_ptr<const Outcome>> large_;  ///< by place
};

}  // namespace crab::core
