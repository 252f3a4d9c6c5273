#pragma once

#include "base/clock.hpp"
#include "base/doubling_delay.hpp"

#include <cstdint>
#include <optional>

namespace crab::agent {

/// When a request that failed is sent again.
struct RetryRule {
    int most = 3;                     ///< repeats
    Milliseconds first{500};          ///< before the first repeat, doubled with each
    Milliseconds longest{8'000};
    Milliseconds longest_asked{60'000};   ///< a longer Retry-After is not waited for

    /// Whether a retry may succeed after this status.
    static constexpr bool helps(int status) {
        return status == 408 || status == 429 || (status >= 500 && status != 501 && status != 505);
    }

    /// The delay before retry number `repeat` (from 0): the server's Retry-After, else uniform in
    /// the upper half of a doubling delay; nothing to give up. `random` is any 64 bits.
    constexpr std::optional<Milliseconds> delay(int repeat, std::optional<Milliseconds> asked,
                                                std::uint64_t random) const {
        if (repeat >= most) return std::nullopt;
        if (asked) return *asked <= longest_asked ? asked : std::nullopt;
        const DoublingDelay doubling{.first = first, .longest = longest};
        return in_upper_half(doubling.after(static_cast<std::uint64_t>(repeat) + 1), random);
    }
};

}  // namespace crab::agent
