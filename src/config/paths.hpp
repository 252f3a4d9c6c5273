#pragma once

#include "base/result.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::config {

struct GatewayConfig;

/// Returns the value of an environment variable; nothing when it is not set.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;
Environment process_environment();

/// Where files live: the XDG Base Directory Specification for a person, system paths for the
/// service (`--system`, or root under systemd with STATE_DIRECTORY set). Reads nothing from disk
/// and creates nothing.
struct Paths {
    /// $XDG_CONFIG_HOME/crab/gateway.yaml, else ~/.config/…; empty without a home
    std::filesystem::path user_config;
    std::filesystem::path system_config;  ///< /etc/crab/gateway.yaml
    /// $XDG_STATE_HOME/crab, else ~/.local/state/crab; service: /var/lib/crab
    std::filesystem::path state_dir;
    /// $XDG_RUNTIME_DIR/crab, else /run/crab for root, else /tmp/crab-<uid>
    std::filesystem::path runtime_dir;

    static Paths find(bool system_service, unsigned uid,
                      const Environment& environment = process_environment());
    /// In order of precedence.
    std::vector<std::filesystem::path> config_candidates() const;
    /// Those of the configuration if set, else these.
    std::filesystem::path state_dir_of(const GatewayConfig& config) const;
    std::filesystem::path runtime_dir_of(const GatewayConfig& config) const;
    std::filesystem::path admin_socket_of(const GatewayConfig& config) const;
};

/// Where a client looks for the gateway: `given` (--socket), CRAB_SOCKET, the configuration's, the
/// default.
std::filesystem::path client_socket(const std::filesystem::path& given, const GatewayConfig& config,
                                    const Paths& paths,
                                    const Environment& environment = process_environment());

/// Creates `directory` (and its parents) with mode 0700 if it is missing. Errors: kForbidden when
/// it is a link, belongs to another user than `uid`, or is accessible to others (fix: chmod 700).
Result<void> ensure_private_directory(const std::filesystem::path& directory, unsigned uid);

}  // namespace crab::config
