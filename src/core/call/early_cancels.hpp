#pragma once

#include "base/clock.hpp"
#include "base/hash.hpp"

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace crab::core {

/// Cancels that arrived before their call: kept for 10 s, so that the call ends on arrival. A
/// principal that exceeds kMostEach loses its own oldest ones, never another's. Thread-safe; costs
/// one atomic load when empty. Source: docs/protocols/rtp.md, section 3, "Cancel".
class EarlyCancels {
public:
    static constexpr std::size_t kMostEach = 256;
    /// Beyond it principals without entries get none
    static constexpr std::size_t kMostAltogether = 65'536;

    void remember(std::string_view tenant, std::string_view principal, std::string_view call_id,
                  SteadyTime now);
    /// Whether this call was cancelled before it arrived; consumes the cancel.
    bool take(std::string_view tenant, std::string_view principal, std::string_view call_id,
              SteadyTime now);

private:
    struct Kept {
        std::string name;   ///< tenant and call id
        SteadyTime until;
    };
    using Own = std::deque<Kept>;   ///< of one principal, oldest first
    void drop_old(SteadyTime now);

    std::atomic<std::size_t> count_{0};
    std::mutex mutex_;
    /// By principal, across tenants; no value is empty
    std::unordered_map<std::string, Own, TextHash, std::equal_to<>> kept_;
    SteadyTime swept_{};
};

}  // namespace crab::core
