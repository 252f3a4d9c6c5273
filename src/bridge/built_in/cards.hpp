#pragma once

#include "bridge/built_in/adapter.hpp"

#include <vector>

namespace crab::bridge {

AdapterCard battery_card();
AdapterCard bluetooth_card();
AdapterCard calendar_card();
AdapterCard clipboard_card();
AdapterCard contacts_card();
AdapterCard journal_card();
AdapterCard media_card();
AdapterCard network_card();
AdapterCard phone_card();
AdapterCard power_card();
AdapterCard search_card();
AdapterCard sensors_card();
AdapterCard system_card();
AdapterCard time_card();

/// All of them, by label; made once.
const std::vector<AdapterCard>& adapter_cards();

}  // namespace crab::bridge
