#pragma once

#include "base/clock.hpp"
#include "base/doubling_delay.hpp"
#include "base/id_source.hpp"

#include <cstdint>

namespace crab::sdk {

/// How long to wait before dialling again: d = min(1 s * 2^n, 30 s), the wait uniform in [d/2, d],
/// so that the devices of a restarted gateway do not come back as one. Source:
/// docs/protocols/clawseed.md, section 10.
class Backoff {
public:
    static constexpr DoublingDelay kDelay{.first = Milliseconds(1'000),
                                          .longest = Milliseconds(30'000)};
    static constexpr Milliseconds kStable{30'000};  ///< a link that lived so long was a good one

    void link_opened(SteadyTime now) { opened_ = now; }
    void link_lost(SteadyTime now) {
        if (now - opened_ >= kStable) failures_ = 0;
    }
    Milliseconds next(IdSource& random) {
        return in_upper_half(kDelay.after(++failures_), random.random());
    }

private:
    SteadyTime opened_{};
    std::uint32_t failures_ = 0;
};

}  // namespace crab::sdk
