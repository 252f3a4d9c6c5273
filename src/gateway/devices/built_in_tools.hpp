#pragma once

#include "adapters/clawseed/hub.hpp"
#include "core/registry/registry.hpp"
#include "trust/tokens.hpp"

#include <functional>
#include <string>
#include <vector>

namespace crab::gateway {

/// Data sources of the gateway's own tools, queried by every call, on any thread.
struct KnownDevices {
    std::function<std::vector<clawseed::ConnectedDevice>()> connected;
    std::function<std::vector<trust::DeviceRecord>()> paired;   ///< devices that may connect
};
/// Devices with a valid credential, by slug.
std::vector<trust::DeviceRecord> devices_that_may_connect(const trust::Tokens& tokens,
                                                          SystemTime now);
/// Registers the gateway's own tools and reserves their names: `list_devices`.
void register_built_in_tools(core::Registry& registry, KnownDevices devices);

/// `crab_allocations_total`, if CRAB_COUNT_ALLOCATIONS was set at start.
void append_allocation_metric(std::string& out);

}  // namespace crab::gateway
