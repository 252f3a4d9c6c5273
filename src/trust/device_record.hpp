#pragma once

#include "base/clock.hpp"

#include <optional>
#include <string>

namespace crab::trust {

/// A device that was paired. The record outlives its tokens, so that its slug and data cannot pass
/// to another device.
struct DeviceRecord {
    std::string slug;  ///< see slug.hpp
    std::string display_name;
    SystemTime created_at;
    std::optional<SystemTime> last_seen_at;  ///< may lag behind by a flush
};

}  // namespace crab::trust
