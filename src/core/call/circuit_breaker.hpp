#pragma once

#include "base/clock.hpp"
#include "base/doubling_delay.hpp"

#include <algorithm>
#include <atomic>

namespace crab::core {

/// Circuit breaker for a host. Three failures in a row open it: calls fail immediately. After a
/// pause one call may try (half-open); its success closes the breaker, its failure lengthens the
/// pause. Only failed or broken connections count. Thread-safe, lock-free.
class CircuitBreaker {
public:
    static constexpr int kOpensAfter = 3;
    static constexpr DoublingDelay kPause{.first = Milliseconds(1'000),
                                          .longest = Milliseconds(60'000)};

    CircuitBreaker() = default;
    /// With other numbers than these.
    CircuitBreaker(int opens_after, DoublingDelay pause)
        : opens_after_(opens_after), pause_(pause) {}

    /// Whether a call may be sent now. Report its result with on_success() or on_failure().
    bool admits(SteadyTime now) {
        const int failures = failures_.load(std::memory_order_relaxed);
        if (failures < opens_after_) return true;
        SteadyTime::rep until = closed_until_.load(std::memory_order_relaxed);
        const auto at = now.time_since_epoch().count();
        // The thread that moves the end of the pause makes the trial call.
        return at >= until && closed_until_.compare_exchange_strong(
                                  until, at + pause_after(failures), std::memory_order_relaxed);
    }
    void on_success() {
        if (failures_.load(std::memory_order_relaxed) != 0)
            failures_.store(0, std::memory_order_relaxed);
    }
    void on_failure(SteadyTime now) {
        const int failures = failures_.fetch_add(1, std::memory_order_relaxed) + 1;
        if (failures >= opens_after_)
            closed_until_.store(now.time_since_epoch().count() + pause_after(failures),
                                std::memory_order_relaxed);
    }
    bool is_open() const { return failures_.load(std::memory_order_relaxed) >= opens_after_; }

private:
    SteadyTime::rep pause_after(int failures) const {
        const int too_many = std::max(failures - opens_after_ + 1, 1);
        return SteadyTime::duration(pause_.after(static_cast<std::uint64_t>(too_many))).count();
    }
    const int opens_after_ = kOpensAfter;
    const DoublingDelay pause_ = kPause;
    std::atomic<int> failures_{0};
    std::atomic<SteadyTime::rep> closed_until_{0};  ///< steady clock
};

}  // namespace crab::core
