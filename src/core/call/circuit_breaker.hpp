#pragma once

#include "base/clock.hpp"
#include "base/doubling_delay.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

namespace crab::core {

/// Circuit breaker for a host. Three failures in a row open it: calls fail immediately. After a
/// pause one call may try (half-open); its success closes the breaker, its failure lengthens the
/// pause. Only failed or broken connections count, not what one call had no time or room for.
/// Thread-safe, lock-free.
class CircuitBreaker {
public:
    static constexpr int kOpensAfter = 3;
    static constexpr DoublingDelay kPause{.first = Milliseconds(1'000),
                                          .longest = Milliseconds(60'000)};

    CircuitBreaker() = default;
    /// With other numbers than these.
    CircuitBreaker(int opens_after, DoublingDelay pause)
        : opens_after_(opens_after), pause_(pause) {}

    /// Leave to send one call. Tell it how the call ended, if that says anything about the host. A
    /// trial that says nothing, for its caller left or had no time, leaves the try to the next
    /// call. Not to outlive the breaker.
    class Pass {
    public:
        Pass(Pass&& other) noexcept
            : breaker_(std::exchange(other.breaker_, nullptr)),
              at_(other.at_),
              until_(other.until_),
              told_(other.told_) {}
        Pass(const Pass&) = delete;
        Pass& operator=(const Pass&) = delete;
        Pass& operator=(Pass&&) = delete;
        ~Pass() {
            // unless somebody else's failure has moved it meanwhile
            if (breaker_ != nullptr && until_ != 0 && !told_)
                breaker_->closed_until_.compare_exchange_strong(until_, at_,
                                                                std::memory_order_relaxed);
        }
        void succeeded() {
            told_ = true;
            breaker_->on_success();
        }
        void failed(SteadyTime now) {
            told_ = true;
            breaker_->on_failure(now);
        }

    private:
        friend class CircuitBreaker;
        Pass(CircuitBreaker& breaker, SteadyTime::rep at, SteadyTime::rep until)
            : breaker_(&breaker), at_(at), until_(until) {}
        CircuitBreaker* breaker_;
        SteadyTime::rep at_;
        SteadyTime::rep until_;  ///< the pause that a trial has begun; 0: this is no trial
        bool told_ = false;
    };

    /// Leave for a call that may be sent now.
    std::optional<Pass> admit(SteadyTime now) {
        const auto at = now.time_since_epoch().count();
        const int failures = failures_.load(std::memory_order_relaxed);
        if (failures < opens_after_) return Pass(*this, at, 0);
        SteadyTime::rep before = closed_until_.load(std::memory_order_relaxed);
        const SteadyTime::rep until = at + pause_after(failures);
        // The thread that moves the end of the pause makes the trial call.
        if (at < before ||
            !closed_until_.compare_exchange_strong(before, until, std::memory_order_relaxed))
            return std::nullopt;
        return Pass(*this, at, until);
    }
    /// Of what was sent without a pass.
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
