#include "json/property_table.hpp"

#include "base/hash.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

namespace crab::json {

/// Seeded, for peers choose the names.
std::size_t PropertyTable::Key::hash() const {
    return detail::fold(head ^ detail::kHashSeed, tail ^ size ^ std::rotl(detail::kHashSeed, 32));
}

std::uint32_t PropertyTable::add(std::string_view name) {
    if (const std::uint32_t known = find(name); known != kNone) return known;
    const auto number = static_cast<std::uint32_t>(names_.size());
    names_.emplace_back(name);
    keys_.emplace_back(name);
    if (names_.size() * 2 > slots_.size()) {
        slots_.assign(slots_.size() * 2, {});
        for (std::uint32_t again = 0; again < number; ++again) place(again);
    }
    place(number);
    return number;
}

void PropertyTable::place(std::uint32_t number) {
    const Key& key = keys_[number];
    std::size_t slot = key.hash();
    while (slots_[slot & (slots_.size() - 1)].number != kNone) ++slot;
    slots_[slot & (slots_.size() - 1)] = {.key = key, .number = number};
}

std::uint32_t PropertyTable::search(const Key& key, std::string_view name) const {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = key.hash();; ++at) {
        const Slot& slot = slots_[at & mask];
        if (slot.number == kNone || (slot.key == key && is(slot.number, name))) return slot.number;
    }
}

}  // namespace crab::json
