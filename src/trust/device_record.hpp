#pragma once

#include "base/clock.hpp"

#include <optional>
#include <string>

namespace crab::trust {

/// A device that was paired once. It outlives its tokens, so that its slug and what it owns pass to
/// nobody else.
struct DeviceRecord {
    std::string slug;  ///< see slug.hpp
    std::string display_name;
    SystemTime created_at;
    std::optional<SystemTime> last_seen_at;  ///< may lag behind by a flush
};

}  // namespace crab::trust
