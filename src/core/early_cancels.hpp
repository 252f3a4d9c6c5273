#pragma once

#include "base/clock.hpp"

#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace crab::core {

/// Cancels that came before their call: kept for 10 s, so that the call ends on arrival. Thread-safe; while there are none it
/// costs one load. Source: docs/protocols/rtp.md, section 3, "Cancel".
class EarlyCancels {
public:
    void remember(std::string_view tenant, std::string_view principal, std::string_view call_id, SteadyTime now);
    /// Whether this call was cancelled before it came; uses the cancel up.
    bool take(std::string_view tenant, std::string_view principal, std::string_view call_id, SteadyTime now);

private:
    struct Kept {
        std::string key;
        SteadyTime until;
    };
    static constexpr std::size_t kMost = 4096;
    void drop_old(SteadyTime now);

    std::atomic<std::size_t> count_{0};
    std::mutex mutex_;
    std::unordered_map<std::string, SteadyTime> until_;   ///< by key
    std::deque<Kept> order_;   ///< oldest first; one whose time is not that in `until_` is used up or renewed
};

}  // namespace crab::core
