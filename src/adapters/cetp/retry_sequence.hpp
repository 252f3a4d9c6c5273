#pragma once

#include "base/clock.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace crab::cetp {

/// The retry sequence for a call that got no envelope: silent starts, waking the app and more
/// sends, until the steps or the time are used up. Does no I/O: the caller performs each step and
/// asks for the next one while an envelope is missing. Source: docs/protocols/cetp.md, rules 28 and
/// 43 to 48, section 2.
class RetrySequence {
public:
    enum class Purpose : std::uint8_t { kDiscovery, kExecution };
    enum class Action : std::uint8_t {
        kSend,  ///< the same call, with the same request_id
        kStartSilently,
        kWake,  ///< brings the app to the foreground
        kWait,  ///< for Step::wait
    };
    struct Step {
        Action action;
        Milliseconds wait{0};
        friend bool operator==(const Step&, const Step&) = default;
    };
    struct Terms {
        Purpose purpose = Purpose::kExecution;
        bool may_wake = false;  ///< the user's setting, one per purpose
        Milliseconds silent_wait{500};  ///< 300 ms on Linux, none where a repeat follows at once
        Milliseconds wake_wait{500};
        Deadline end = kNoDeadline;  ///< no step begins, and no wait ends, after it
    };

    explicit RetrySequence(const Terms& terms);

    /// The next step, the first send included; nothing when there is nothing left to try.
    std::optional<Step> next(SteadyTime now);

private:
    const Deadline end_;
    std::vector<Step> steps_;
    std::size_t at_ = 0;
};

}  // namespace crab::cetp
