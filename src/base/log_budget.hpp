#pragma once

#include "base/clock.hpp"

#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

namespace crab::log {

/// Rate limit for log lines that peers can trigger: a number per minute, then the count of
/// suppressed lines. Thread-safe.
class Budget {
public:
    explicit Budget(int lines_per_minute) : most_(lines_per_minute) {}

    /// If a line may be written at `now`: the number of lines suppressed since the last one.
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
