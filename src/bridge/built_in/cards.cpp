#include "bridge/built_in/cards.hpp"

namespace crab::bridge {

const std::vector<AdapterCard>& adapter_cards() {
    static const std::vector<AdapterCard> cards{
        battery_card(), bluetooth_card(), calendar_card(), clipboard_card(), contacts_card(),
        journal_card(), media_card(),     network_card(),  phone_card(),     power_card(),
        search_card(),  sensors_card(),   system_card(),   time_card()};
    return cards;
}

}  // namespace crab::bridge
