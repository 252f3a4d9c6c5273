#pragma once

#include "bridge/built_in/adapter.hpp"

#include <vector>

namespace crab::bridge {

AdapterInfo battery_adapter();
AdapterInfo bluetooth_adapter();
AdapterInfo calendar_adapter();
AdapterInfo clipboard_adapter();
AdapterInfo contacts_adapter();
AdapterInfo journal_adapter();
AdapterInfo media_adapter();
AdapterInfo network_adapter();
AdapterInfo phone_adapter();
AdapterInfo power_adapter();
AdapterInfo search_adapter();
AdapterInfo sensors_adapter();
AdapterInfo system_adapter();
AdapterInfo time_adapter();

/// All of them, by label; made once.
const std::vector<AdapterInfo>& all_adapters();

}  // namespace crab::bridge
