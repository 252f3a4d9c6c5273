#pragma once

#include "base/clock.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace crab::admin {

/// A live connection of a device, as its adapter reports it.
struct Presence {
    std::string device;         ///< slug
    std::string name;           ///< as the device calls itself
    std::string principal;
    std::size_t tools = 0;
    SystemTime since;
    /// A rejected tool.
    struct Refused {
        std::string tool, code, reason;
        SystemTime at{};
    };
    std::vector<Refused> refused{};
    std::optional<double> battery{};   ///< 0 to 1; absent if not reported
    std::optional<bool> charging{}, metered{}, foreground{};
};

}  // namespace crab::admin
