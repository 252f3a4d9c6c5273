#pragma once

#include "base/clock.hpp"
#include "base/doubling_delay.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace crab::core {

/// When to poll a remote source of tools: every minute while it answers, with backoff from 1 s to a
/// minute while it does not; after five minutes its tools are removed. Pure; times are of the
/// steady clock.
class PollSchedule {
public:
    struct Times {
        std::chrono::nanoseconds every = std::chrono::seconds(60);
        std::chrono::nanoseconds answer_within = std::chrono::seconds(10);
        DoublingDelay pause{.first = std::chrono::seconds(1), .longest = std::chrono::seconds(60)};
        std::chrono::nanoseconds listed_for = std::chrono::minutes(5);  ///< of silence
    };
    PollSchedule(const Times& times, SteadyTime now) : times_(times), heard_(now) {}

    struct Next {
        Deadline ask;  ///< again
        bool changed = false;  ///< it has stopped answering, or answers again
        bool withdraw = false;  ///< its tools must be removed
    };
    Next on_answer(SteadyTime now) {
        heard_ = now;
        failures_ = 0;
        return {.ask = now + times_.every, .changed = !std::exchange(answered_, true)};
    }
    /// `has_tools`: whether it has registered tools.
    Next on_silence(SteadyTime now, bool has_tools) {
        const SteadyTime too_long = heard_ + times_.listed_for;
        Next next{.ask = now + times_.pause.after(++failures_),
                  .changed = std::exchange(answered_, false),
                  .withdraw = has_tools && now >= too_long};
        if (has_tools && !next.withdraw) next.ask = std::min<Deadline>(next.ask, too_long);
        return next;
    }

private:
    Times times_;
    SteadyTime heard_;
    std::uint64_t failures_ = 0;  ///< in a row
    bool answered_ = true;
};

}  // namespace crab::core
