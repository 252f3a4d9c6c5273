#pragma once

#include "base/secret.hpp"
#include "sdk/machine/command_tool.hpp"

#include "crab/device.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace crab::cli {

/// What `crab devices run` was asked to do.
struct DeviceOptions {
    static constexpr const char* kUsualGateway = "ws://127.0.0.1:42617";
    /// Ws:// or wss://, with its path prefix; empty: the one in `state_file`, else the usual
    std::string gateway;
    Secret<std::string> token;  ///< --token, --token-file or CRAB_TOKEN; empty: none
    /// PEM, for wss://; empty: what `state_file` has for that gateway, else the system's
    /// authorities
    std::string ca_file;
    std::string pair_code;  ///< --pair; empty: none
    /// Called with the key that the code is exchanged for; may block
    std::function<void(const std::string& public_key)> before_pairing;
    std::string name;  ///< for people; empty: the host's name
    std::string session_id;  ///< empty: that of `state_file`, or a new one
    std::vector<sdk::CommandTool> exec_tools;
    std::filesystem::path state_file;  ///< stores the token from pairing; mode 0600
    bool allow_plain = false;  ///< `gateway` may be ws on another machine
    bool once = false;  ///< exit when the first connection ends instead of reconnecting
};

/// Serves the tools until SIGINT or SIGTERM. Returns a process exit code (exit_codes.hpp).
int run_device(const DeviceOptions& options);
/// The exit code for a device that ended for this reason.
int exit_code_for(DeviceEnd::Reason reason);

}  // namespace crab::cli
