#pragma once

#include "base/clock.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>

namespace crab {

/// Stands still until advance(); starts at a fixed time, so that test output is reproducible.
class FakeClock final : public Clock {
public:
    SteadyTime steady_now() const override { return SteadyTime(std::chrono::hours(1) + offset()); }
    SystemTime system_now() const override {
        return SystemTime(std::chrono::seconds(1'780'000'000) + offset() +
                          std::chrono::nanoseconds(set_.load()));
    }
    void advance(std::chrono::nanoseconds by) { offset_ += by.count(); }
    /// Moves the system clock; negative: backwards.
    void set_system_clock(std::chrono::nanoseconds by) { set_ += by.count(); }

private:
    std::chrono::nanoseconds offset() const { return std::chrono::nanoseconds(offset_.load()); }
    std::atomic<std::int64_t> offset_{0}, set_{0};
};

}  // namespace crab
