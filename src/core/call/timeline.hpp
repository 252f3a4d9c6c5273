#pragma once

#include "base/clock.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crab::core {

/// The stages of a call, in order. kAsked and kApproved apply to calls that needed an approval.
enum class Stage : std::uint8_t {
    kReceived,
    kAuthorized,
    kHooked,
    kValidated,
    kAdmitted,
    kAsked,
    kApproved,
    kLimited,
    kDispatched,
    kAnswered,
    kFinished
};
inline constexpr std::size_t kStages = 11;
std::string_view name_of(Stage stage);

/// When a call reached each stage. Plain numbers: filling it allocates nothing.
class Timeline {
public:
    void start(SteadyTime now, SystemTime wall) {
        start_ = now;
        wall_ = wall;
        reached_.fill(-1);
        reached_[0] = 0;
    }
    void reach(Stage stage, SteadyTime now) {
        reached_[static_cast<std::size_t>(stage)] = (now - start_).count();
    }
    /// Nanoseconds after the start; negative when the stage was not reached.
    std::int64_t offset_ns(Stage stage) const { return reached_[static_cast<std::size_t>(stage)]; }
    SteadyTime started() const { return start_; }
    SystemTime started_at() const { return wall_; }

private:
    SteadyTime start_{};
    SystemTime wall_{};
    std::array<std::int64_t, kStages> reached_{};
};

}  // namespace crab::core
