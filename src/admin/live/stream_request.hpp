#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "core/live/call_filter.hpp"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace crab::admin {

/// What a stream tells of.
enum class Topic : std::uint8_t {
    kStatus,    ///< the answer of `/v1/admin/status`, every second
    kCalls,     ///< calls that have ended
    kRunning,   ///< calls that run
    kDevice,    ///< a device that comes, goes or changes
    kTools,     ///< the list of tools has changed
    kQuestion,  ///< approvals: questions and their ends
    kPairing,   ///< codes for devices and callers: opened, used, ended
    kEvent      ///< events of the gateway
};
inline constexpr std::size_t kTopics = 8;
std::string_view name_of(Topic topic);

/// A request for a stream, from its query.
struct StreamRequest {
    std::bitset<kTopics> topics{};
    std::size_t rate = 20;  ///< rows of calls in a second
    core::CallFilter filter{};
    bool attends = false;  ///< somebody sees it, and can be asked about calls

    bool has(Topic topic) const { return topics.test(static_cast<std::size_t>(topic)); }
    /// `topics` (a list with commas; missing: all), `rate`, `filter`, `attend`. Errors:
    /// kInvalidArgs.
    static Result<StreamRequest> parse(std::string_view query, SystemTime now);
};

}  // namespace crab::admin
