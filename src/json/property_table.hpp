#pragma once

#include "base/hash.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace crab::json {

/// Property names by number, for a look-up per member of an instance.
class PropertyTable {
public:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    /// The number of `name`, which is new or known.
    std::uint32_t add(std::string_view name);

    std::size_t size() const { return names_.size(); }
    const std::string& name(std::uint32_t number) const { return names_[number]; }
    /// The number of `name`, or kNone. Members often come in the order of their names here: then
    /// `expected`, the number after the last one found, is the answer and nothing is searched.
    std::uint32_t find(std::string_view name, std::uint32_t expected = kNone) const {
        if (names_.empty()) return kNone;
        const Key key(name);
        if (expected < keys_.size() && keys_[expected] == key && is(expected, name))
            return expected;
        return search(key, name);
    }

private:
    /// What a name is found by: all of one of at most 16 bytes, else a hash of it.
    struct Key {
        explicit Key(std::string_view name);
        bool operator==(const Key& other) const {
            return ((head ^ other.head) | (tail ^ other.tail) | (size ^ other.size)) == 0;
        }
        std::size_t hash() const;

        std::uint64_t head = 0, tail = 0;
        std::size_t size;
    };
    struct Slot {
        Key key{{}};
        std::uint32_t number = kNone;
    };
    static constexpr std::size_t kWhole = 16;  // bytes of a name that its key holds
    void place(std::uint32_t number);
    std::uint32_t search(const Key& key, std::string_view name) const;
    /// Whether that is the name, whose key is right.
    bool is(std::uint32_t number, std::string_view name) const {
        return name.size() <= kWhole || names_[number] == name;
    }

    std::vector<std::string> names_;
    std::vector<Key> keys_;
    // open addressing, a power of two, at most half full
    std::vector<Slot> slots_ = std::vector<Slot>(2);
};

inline PropertyTable::Key::Key(std::string_view name) : size(name.size()) {
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

}  // namespace crab::json
