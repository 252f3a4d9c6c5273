#pragma once

#include "sdk/machine/machine_facts.hpp"

#include "crab/device.hpp"

namespace crab::sdk {

/// Registers this machine's facts as read-only tools: `device_info`, `disk_usage`,
/// `network_interfaces`, `processes`, and `battery` where there is one.
void add_machine_tools(Device& device, const MachineRoots& roots = {});

}  // namespace crab::sdk
