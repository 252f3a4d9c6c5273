#pragma once

#include "base/clock.hpp"

#include <algorithm>
#include <optional>

namespace crab::cetp {

/// Debounces changes into one rescan: 500 ms after the last change, at most 5 s after the first.
/// Source: docs/protocols/cetp.md, rule 38.
class RefreshTimer {
public:
    static constexpr Milliseconds kQuiet{500};
    static constexpr Milliseconds kLongest{5'000};

    void on_change(SteadyTime now) {
        if (!first_) first_ = now;
        last_ = now;
    }
    /// When the rescan is due; kNoDeadline when nothing has changed.
    Deadline due() const {
        return first_ ? std::min(last_ + kQuiet, *first_ + kLongest) : kNoDeadline;
    }
    /// Whether it is due; if so the timer is reset.
    bool take(SteadyTime now) {
        if (now < due()) return false;
        first_.reset();
        return true;
    }

private:
    std::optional<SteadyTime> first_;
    SteadyTime last_{};
};

}  // namespace crab::cetp
