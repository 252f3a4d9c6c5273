#pragma once

#include "base/clock.hpp"
#include "core/call/tool_result.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

namespace crab::core {

/// Ring buffer of outcomes: adding one copies it without an allocation and drops the oldest. Large
/// outcomes are kept on the heap and count as well. Not thread-safe.
class OutcomeRing {
public:
    /// Called with the two halves of a dropped outcome's key.
    using Dropped = std::function<void(std::uint64_t high, std::uint64_t low)>;
    /// `capacity_bytes`: half for the ring, half for large outcomes.
    OutcomeRing(std::size_t capacity_bytes, Dropped dropped);

    /// An outcome and how long its call took.
    struct Kept {
        std::shared_ptr<const Outcome> outcome;
        std::chrono::nanoseconds duration{0};
    };
    /// Stores `ended` until `until` at most and returns its position, dropping older ones if
    /// needed. Nothing: it is larger than the capacity.
    std::optional<std::uint64_t> add(std::uint64_t high, std::uint64_t low, const Kept& ended,
                                     SteadyTime until);
    /// The outcome at a position returned by add() that was not dropped.
    Kept get(std::uint64_t place) const;
    /// Drops outcomes that expired by `now`.
    void expire(SteadyTime now);
    /// The `low` half of the key that a full ring drops next; nothing when it is empty or would
    /// wrap around.
    std::optional<std::uint64_t> next_to_drop() const;

private:
    struct Header;
    Header header_at(std::uint64_t place) const;
    void drop_oldest();
    void prefetch(std::uint64_t place) const;

    const std::size_t capacity_;
    const Dropped dropped_;
    std::unique_ptr<char[]> bytes_;  ///< allocated with the first outcome
    /// Monotonic positions; the offset in `bytes_` is the position modulo `capacity_`
    std::uint64_t head_ = 0, tail_ = 0;
    std::size_t large_bytes_ = 0;
    std::unordered_map<std::uint64_t, std::shared_ptr<const Outcome>> large_;  ///< by position
};

}  // namespace crab::core
