#include "json/property_table.hpp"

#include "base/hash.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

namespace crab::json {

// Short names hash by their first and last eight bytes at most, which is all of them; seeded, for
// peers choose the names.
std::size_t PropertyTable::hash(std::string_view name) {
    if (name.size() > 16) return hash_text(name);
    std::uint64_t head = 0;
    std::uint64_t tail = 0;
    if (name.size() >= 8) {
        std::memcpy(&head, name.data(), 8);
        std::memcpy(&tail, name.data() + name.size() - 8, 8);
    } else if (name.size() >= 4) {
        std::uint32_t first, last;
        std::memcpy(&first, name.data(), 4);
        std::memcpy(&last, name.data() + name.size() - 4, 4);
        head = first;
        tail = last;
    } else {
        for (const char c : name) head = head << 8 | static_cast<unsigned char>(c);
    }
    return detail::fold(head ^ detail::kHashSeed,
                        tail ^ name.size() ^ std::rotl(detail::kHashSeed, 32));
}

std::uint32_t PropertyTable::add(std::string_view name) {
    if (const std::uint32_t known = find(name); known != kNone) return known;
    const auto number = static_cast<std::uint32_t>(names_.size());
    names_.emplace_back(name);
    if (names_.size() * 2 > slots_.size()) {
        slots_.assign(slots_.size() * 2, kNone);
        for (std::uint32_t again = 0; again < number; ++again) place(again);
    }
    place(number);
    return number;
}

void PropertyTable::place(std::uint32_t number) {
    std::size_t slot = hash(names_[number]);
    while (slots_[slot & (slots_.size() - 1)] != kNone) ++slot;
    slots_[slot & (slots_.size() - 1)] = number;
}

std::uint32_t PropertyTable::find(std::string_view name) const {
    for (std::size_t slot = hash(name);; ++slot) {
        const std::uint32_t number = slots_[slot & (slots_.size() - 1)];
        if (number == kNone || names_[number] == name) return number;
    }
}

}  // namespace crab::json
