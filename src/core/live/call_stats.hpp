#pragma once

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "core/live/finished_call.hpp"
#include "core/live/latency_sketch.hpp"

#include <array>
#include <bitset>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace crab::core {

/// The calls of the last hour, minute by minute: by tool, principal and source, and all together.
/// Keys beyond kMostKeys of a kind are counted as `other`. A megabyte where few tools are called,
/// about 50 at most. Not thread-safe.
class CallStats {
public:
    static constexpr std::int64_t kMinutes = 60;
    static constexpr std::size_t kMostKeys = 512;
    enum class By : std::uint8_t { kTool, kPrincipal, kSource };
    static std::optional<By> find_by(std::string_view name);

    /// Of one key, in one minute or in several.
    struct Totals {
        std::uint64_t calls = 0, errors = 0;
        std::array<double, kStages> stage_us{};  ///< sums
        std::bitset<kStages> passed{};  ///< the stages that a call reached, in however little time
        LatencySketch latency{};
        std::int64_t slowest_us = -1;
        std::string slowest{};  ///< its call id

        void add(const FinishedCall& call, std::uint64_t weight);
        void add(const Totals& other);
    };
    struct Row {
        std::string key;
        Totals totals;
    };

    /// Counts a call that ended at `now` and stands for `weight` calls.
    void add(const FinishedCall& call, std::uint64_t weight, SteadyTime now);
    /// Of the last `minutes`, the one that runs included, those with the most calls first.
    std::vector<Row> rows(By by, std::int64_t minutes, SteadyTime now) const;
    /// `take(minutes ago, totals)` for each of the last `minutes` with calls, the oldest first.
    void for_minutes(std::int64_t minutes, SteadyTime now,
                     const std::function<void(std::int64_t, const Totals&)>& take) const;

private:
    struct Minute {
        std::int64_t number = 0;
        Totals totals;
    };
    using Ring = std::deque<Minute>;  ///< those with calls, the oldest first
    using Rings = std::unordered_map<std::string, Ring, TextHash, std::equal_to<>>;

    static Totals& at(Ring& ring, std::int64_t minute);
    static Ring& ring_of(Rings& rings, std::string_view key);
    void forget_before(std::int64_t minute);

    std::array<Rings, 3> keys_;
    Ring all_;
    std::int64_t swept_ = 0;  ///< the minute in which old ones were last dropped
};

}  // namespace crab::core
