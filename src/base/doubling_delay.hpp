#pragma once

#include "base/clock.hpp"

#include <algorithm>
#include <cstdint>

namespace crab {

/// How long to wait before the next try of something that fails: the delay doubles with every
/// failure, up to a bound. A pure value; the count of failures is its user's.
struct DoublingDelay {
    Milliseconds first;    ///< after one failure; above zero
    Milliseconds longest;  ///< at least `first`

    /// After that many failures in a row; nothing to wait for after none.
    constexpr Milliseconds after(std::uint64_t failures) const {
        if (failures == 0) return Milliseconds(0);
        Milliseconds delay = first;
        for (std::uint64_t i = 1; i < failures && delay < longest; ++i)
            delay = delay > longest / 2 ? longest : delay * 2;
        return delay;
    }
};

/// A delay between half of `delay` and all of it, so that those who failed together do not come
/// back as one. `random` is any 64 bits.
constexpr Milliseconds in_upper_half(Milliseconds delay, std::uint64_t random) {
    const auto half = delay.count() / 2;
    const auto rest = static_cast<std::uint64_t>(delay.count() - half);
    return Milliseconds(half + static_cast<std::int64_t>(random % (rest + 1)));
}

}  // namespace crab
