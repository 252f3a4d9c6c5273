#pragma once

#include "base/clock.hpp"

#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

namespace crab::log {

/// Bounds the lines about something that others cause as often as they like: so many a minute, and
/// then how many were left out. Thread-safe.
class Budget {
public:
    explicit Budget(int lines_per_minute) : most_(lines_per_minute) {}

    /// Whether a line may be written at `now`; the value: how many were not since the last one that
    /// was.
    std::optional<std::uint64_t> take(SteadyTime now) {
        const std::scoped_lock lock(mutex_);
        if (!begun_ || now >= *begun_ + std::chrono::minutes(1)) {
            begun_ = now;
            written_ = 0;
        }
        if (written_ >= most_) {
            ++left_out_;
            return std::nullopt;
        }
        ++written_;
        return std::exchange(left_out_, 0);
    }

private:
    const int most_;
    std::mutex mutex_;
    std::optional<SteadyTime> begun_;
    int written_ = 0;
    std::uint64_t left_out_ = 0;
};

}  // namespace crab::log
