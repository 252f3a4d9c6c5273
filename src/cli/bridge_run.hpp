#pragma once

#include "base/result.hpp"
#include "bridge/bridge_paths.hpp"

#include "crab/device.hpp"

namespace crab::cli {

/// Runs the bridge until SIGINT or SIGTERM, or until the gateway closes it. Only one runs per user.
/// Errors: kConflict while another one runs, kUnavailable.
Result<DeviceEnd> run_bridge(const bridge::BridgePaths& paths, crab::DeviceOptions device);

}  // namespace crab::cli
