#pragma once

#include "base/clock.hpp"
#include "trust/shared_keys.hpp"

#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace crab::trust {

/// Texts that somebody has to sign soon to prove a key. One needs no memory until it is used up,
/// is good once, only for the object that made it (or for those that share its keys), and only for
/// whom it was made. Thread-safe; never blocks.
class Challenges {
public:
    static constexpr Milliseconds kLifetime{60'000};

    explicit Challenges(const Clock& clock) : Challenges(clock, SharedKeys::make(), Time::kOwn) {}
    /// Of nodes with the same keys, whose wall clocks differ by less than kLifetime.
    Challenges(const Clock& clock, SharedKeys keys)
        : Challenges(clock, std::move(keys), Time::kOfAll) {}

    /// 96 hexadecimal characters, good for kLifetime and for `whom`, such as a session.
    std::string make(std::string_view whom = {});
    /// Whether it was made here, for `whom`, not too long ago; it may be used up already.
    bool is_fresh(std::string_view challenge, std::string_view whom = {}) const;
    /// False when it was used before, here. Call it for a fresh one whose signature is right, so
    /// that only those take memory.
    bool use_up(std::string_view challenge);

private:
    enum class Time { kOwn, kOfAll };
    Challenges(const Clock& clock, SharedKeys keys, Time time)
        : clock_(clock), keys_(std::move(keys)), time_(time) {}
    struct Used {
        std::string challenge;
        SteadyTime forget_at;
    };
    Milliseconds now() const;

    const Clock& clock_;
    const SharedKeys keys_;
    const Time time_;
    std::mutex mutex_;
    std::unordered_set<std::string> used_;
    std::deque<Used> used_order_;
};

}  // namespace crab::trust
