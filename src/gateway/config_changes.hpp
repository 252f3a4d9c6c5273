#pragma once

#include "gateway/gateway_context.hpp"
#include "runtime/config_key.hpp"

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace crab::gateway {

/// The keys in which two configurations differ, as the file names them.
struct ConfigChanges {
    std::vector<std::string_view> now;           ///< applied by a reload
    std::vector<std::string_view> at_next_start; ///< need a restart
};

/// `keys` are declared by the components.
ConfigChanges config_changes(std::span<const ConfigKey> keys, const config::GatewayConfig& before,
                             const config::GatewayConfig& after);

/// Logs what a reload of `file` has changed, and what needs a restart.
void log_reload(const std::filesystem::path& file, std::span<const std::string_view> changed,
                std::span<const std::string_view> waiting);

}  // namespace crab::gateway
