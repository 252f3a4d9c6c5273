#pragma once

#include <atomic>
#include <cstdint>

namespace crab {

/// A counter with one writing thread and any number of readers: no locked instruction on the path
/// of a call.
class Counter {
public:
    void add(std::uint64_t by = 1) {
        value_.store(value_.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
    }
    std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_{0};
};

}  // namespace crab
