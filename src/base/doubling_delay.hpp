#pragma once

#include "base/clock.hpp"

#include <algorithm>
#include <cstdint>

namespace crab {

/// Exponential backoff: the delay doubles with every failure, up to a bound. A pure value; the
/// caller counts failures.
struct DoublingDelay {
    Milliseconds first;    ///< after one failure; above zero
    Milliseconds longest;  ///< at least `first`

    /// The delay after that many failures in a row; zero after none.
    constexpr Milliseconds after(std::uint64_t failures) const {
        if (failures == 0) return Milliseconds(0);
        Milliseconds delay = first;
        for (std::uint64_t i = 1; i < failures && delay < longest; ++i)
            delay = delay > longest / 2 ? longest : delay * 2;
        return delay;
    }
};

/// Jitter: a delay between half of `delay` and all of it, so that clients do not retry in step.
/// `random` is any 64 bits.
constexpr Milliseconds in_upper_half(Milliseconds delay, std::uint64_t random) {
    const auto half = delay.count() / 2;
    const auto rest = static_cast<std::uint64_t>(delay.count() - half);
    return Milliseconds(half + static_cast<std::int64_t>(random % (rest + 1)));
}

}  // namespace crab
