#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace crab {

using SteadyTime = std::chrono::steady_clock::time_point;
using SystemTime = std::chrono::system_clock::time_point;
using Milliseconds = std::chrono::milliseconds;

/// A point on the steady clock at which a wait ends. Functions pass deadlines on, not timeouts.
using Deadline = SteadyTime;
inline constexpr Deadline kNoDeadline = Deadline::max();

/// Source of time. Thread-safe. Tests use a FakeClock and advance it by hand.
class Clock {
public:
    virtual ~Clock() = default;
    virtual SteadyTime steady_now() const = 0;
    virtual SystemTime system_now() const = 0;
};

class RealClock final : public Clock {
public:
    SteadyTime steady_now() const override { return std::chrono::steady_clock::now(); }
    SystemTime system_now() const override { return std::chrono::system_clock::now(); }
};

/// RFC 3339 in UTC with milliseconds and `Z`, in place: no allocation.
class Rfc3339Text {
public:
    explicit Rfc3339Text(SystemTime time);
    std::string_view view() const { return {text_.data(), text_.size()}; }

private:
    std::array<char, 24> text_;
};

/// RFC 3339 in UTC with milliseconds and `Z`: `2026-11-21T09:30:00.250Z`.
std::string to_rfc3339(SystemTime time);
/// Milliseconds since the Unix epoch.
inline std::int64_t to_unix_ms(SystemTime time) {
    return std::chrono::duration_cast<Milliseconds>(time.time_since_epoch()).count();
}

}  // namespace crab
