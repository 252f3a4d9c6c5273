#pragma once

#include "config/gateway_config.hpp"

#include <string_view>
#include <vector>

namespace crab::gateway {

/// The keys in which two configurations differ, as the file names them.
struct ConfigChanges {
    std::vector<std::string_view> now;           ///< a reload takes them over
    std::vector<std::string_view> at_next_start; ///< a running gateway keeps its own
};

ConfigChanges config_changes(const config::GatewayConfig& before,
                             const config::GatewayConfig& after);

}  // namespace crab::gateway
