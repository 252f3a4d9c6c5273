#pragma once

#include "base/clock.hpp"
#include "base/id_source.hpp"

#include <algorithm>
#include <cstdint>

namespace crab::sdk {

/// How long to wait before dialling again: d = min(1 s * 2^n, 30 s), the wait uniform in [d/2, d],
/// so that the devices of a restarted gateway do not come back as one. Source:
/// docs/protocols/clawseed.md, section 10.
class Backoff {
public:
    static constexpr Milliseconds kFirst{1'000};
    static constexpr Milliseconds kLongest{30'000};
    static constexpr Milliseconds kStable{30'000};  ///< a link that lived so long was a good one

    void link_opened(SteadyTime now) { opened_ = now; }
    void link_lost(SteadyTime now) {
        if (now - opened_ >= kStable) failures_ = 0;
    }
    Milliseconds next(IdSource& random) {
        const Milliseconds longest = std::min(kFirst * (1 << failures_), kLongest);
        if (failures_ < 5) ++failures_;  // 1 s * 2^5 is beyond the longest already
        const auto half = static_cast<std::uint64_t>(longest.count() / 2);
        return Milliseconds(static_cast<std::int64_t>(half + random.random() % (half + 1)));
    }

private:
    SteadyTime opened_{};
    int failures_ = 0;
};

}  // namespace crab::sdk
