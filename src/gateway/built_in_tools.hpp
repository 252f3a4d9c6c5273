#pragma once

#include "adapters/clawseed/hub.hpp"
#include "core/registry/registry.hpp"
#include "trust/tokens.hpp"

#include <functional>
#include <string>
#include <vector>

namespace crab::gateway {

/// What the gateway's own tools know, asked again by every call, on any thread.
struct KnownDevices {
    std::function<std::vector<clawseed::ConnectedDevice>()> connected;
    std::function<std::vector<trust::DeviceRecord>()> paired;   ///< those that may connect
};
/// Devices that have a credential with which they may connect, by slug.
std::vector<trust::DeviceRecord> devices_that_may_connect(const trust::Tokens& tokens,
                                                          SystemTime now);
/// Registers the gateway's own tools, whose names are reserved from here on: `list_devices`.
void register_built_in_tools(core::Registry& registry, KnownDevices devices);

/// `crab_allocations_total`, when CRAB_COUNT_ALLOCATIONS asked for counting at the start.
void append_allocation_metric(std::string& out);

}  // namespace crab::gateway
