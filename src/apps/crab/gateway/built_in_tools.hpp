#pragma once

#include "adapters/clawseed/hub.hpp"
#include "core/registry.hpp"

#include <functional>
#include <string>
#include <vector>

namespace crab::app {

/// Registers the gateway's own tools, whose names are reserved from here on: `list_devices`.
void register_built_in_tools(core::Registry& registry, std::function<std::vector<clawseed::ConnectedDevice>()> connected);

/// `crab_allocations_total`, when CRAB_COUNT_ALLOCATIONS asked for counting at the start.
void append_allocation_metric(std::string& out);

}  // namespace crab::app
