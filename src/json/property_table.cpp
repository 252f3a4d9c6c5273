#include "json/property_table.hpp"

#include "base/hash.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

namespace crab::json {

PropertyTable::Key::Key(std::string_view name) : size(name.size()) {
    if (size > kWhole) {
        head = hash_text(name);
    } else if (size >= 8) {
        std::memcpy(&head, name.data(), 8);
        std::memcpy(&tail, name.data() + size - 8, 8);
    } else if (size >= 4) {
        std::uint32_t first, last;
        std::memcpy(&first, name.data(), 4);
        std::memcpy(&last, name.data() + size - 4, 4);
        head = first;
        tail = last;
    } else {
        for (const char c : name) head = head << 8 | static_cast<unsigned char>(c);
    }
}

/// Seeded, for peers choose the names.
std::size_t PropertyTable::Key::hash() const {
    return detail::fold(head ^ detail::kHashSeed, tail ^ size ^ std::rotl(detail::kHashSeed, 32));
}

std::uint32_t PropertyTable::add(std::string_view name) {
    if (const std::uint32_t known = find(name); known != kNone) return known;
    const auto number = static_cast<std::uint32_t>(names_.size());
    names_.emplace_back(name);
    if (names_.size() * 2 > slots_.size()) {
        slots_.assign(slots_.size() * 2, {});
        for (std::uint32_t again = 0; again < number; ++again) place(again);
    }
    place(number);
    return number;
}

void PropertyTable::place(std::uint32_t number) {
    const Key key(names_[number]);
    std::size_t slot = key.hash();
    while (slots_[slot & (slots_.size() - 1)].number != kNone) ++slot;
    slots_[slot & (slots_.size() - 1)] = {.key = key, .number = number};
}

std::uint32_t PropertyTable::find(std::string_view name) const {
    const Key key(name);
    for (std::size_t at = key.hash();; ++at) {
        const Slot& slot = slots_[at & (slots_.size() - 1)];
        if (slot.number == kNone ||
            (slot.key == key && (name.size() <= kWhole || names_[slot.number] == name)))
            return slot.number;
    }
}

}  // namespace crab::json
