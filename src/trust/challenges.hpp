#pragma once

#include "base/clock.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>

namespace crab::trust {

/// Texts that somebody has to sign soon to prove a key. One needs no memory until it is used up,
/// is good once, only for the object that made it, and only for whom it was made. Thread-safe;
/// never blocks.
class Challenges {
public:
    static constexpr Milliseconds kLifetime{60'000};

    explicit Challenges(const Clock& clock);

    /// 96 hexadecimal characters, good for kLifetime and for `whom`, such as a session.
    std::string make(std::string_view whom = {});
    /// Whether it was made here, for `whom`, not too long ago; it may be used up already.
    bool is_fresh(std::string_view challenge, std::string_view whom = {}) const;
    /// False when it was used before. Call it for a fresh one whose signature is right, so that
    /// only those take memory.
    bool use_up(std::string_view challenge);

private:
    struct Used {
        std::string challenge;
        SteadyTime forget_at;
    };
    std::string seal(std::string_view time_and_random, std::string_view whom) const;

    const Clock& clock_;
    const std::array<std::uint8_t, 32> secret_;  ///< of this object
    std::mutex mutex_;
    std::unordered_set<std::string> used_;
    std::deque<Used> used_order_;
};

}  // namespace crab::trust
