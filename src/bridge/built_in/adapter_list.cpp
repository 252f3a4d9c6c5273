#include "bridge/built_in/adapter_list.hpp"

namespace crab::bridge {

const std::vector<AdapterInfo>& all_adapters() {
    static const std::vector<AdapterInfo> adapters{
        battery_adapter(),  bluetooth_adapter(), calendar_adapter(), clipboard_adapter(),
        contacts_adapter(), journal_adapter(),   media_adapter(),    network_adapter(),
        phone_adapter(),    power_adapter(),     search_adapter(),   sensors_adapter(),
        system_adapter(),   time_adapter()};
    return adapters;
}

}  // namespace crab::bridge
