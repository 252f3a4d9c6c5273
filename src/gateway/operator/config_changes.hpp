#pragma once

#include "gateway/context/gateway_context.hpp"
#include "runtime/config_key.hpp"
#include "runtime/lifecycle.hpp"

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

/// Has the components reload `next`. They see the keys that need a restart as they were at the
/// `start`, so none of them can apply one by mistake. Errors: those of Lifecycle::reload().
Result<void> reload_components(runtime::Lifecycle& lifecycle, std::span<const ConfigKey> keys,
                               const config::GatewayConfig& start, config::GatewayConfig next);

/// Logs what a reload of `file` has changed, and what needs a restart.
void log_reload(const std::filesystem::path& file, std::span<const std::string_view> changed,
                std::span<const std::string_view> waiting);

}  // namespace crab::gateway
